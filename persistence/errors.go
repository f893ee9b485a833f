package persistence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

var (
	// ErrRollbackOnly is returned to the owner of a transaction that a
	// participant or a synchronous listener had marked, although the owner
	// itself ended without an error. It wraps the first cause. The transaction
	// was rolled back.
	ErrRollbackOnly = errors.New("transaction is rollback-only")
	// ErrAborted is returned where an operation ended without an error but
	// PostgreSQL had aborted the transaction: a swallowed SQL error. It wraps
	// the first SQL error where that was seen. The transaction was rolled back.
	ErrAborted = errors.New("transaction was aborted by an error that was swallowed")
	// ErrUnknownOutcome is returned where COMMIT was sent and its answer is not
	// known: the transaction may or may not have been committed. Repeating the
	// work blindly may apply it twice.
	ErrUnknownOutcome = errors.New("outcome of COMMIT is unknown")
	// ErrTransactionControl is returned for a statement that would end, restart
	// or nest the transaction. It was not sent.
	ErrTransactionControl = errors.New("transaction control is refused")
	// ErrNotOneRow is returned by ExecOne for a statement that changed another
	// number of rows than one.
	ErrNotOneRow = errors.New("did not change exactly one row")
	// ErrEnded is returned by the verbs of a transaction that has ended.
	ErrEnded = errors.New("transaction has ended")
	// ErrIncompatible is returned to a participant that asks for more than the
	// transaction of its owner has: writing in a read-only one, or a stricter
	// isolation.
	ErrIncompatible = errors.New("the caller's transaction does not offer what the operation asks for")
	// ErrReadOnly is returned where a write, such as an emit, meets a read-only
	// transaction.
	ErrReadOnly = errors.New("transaction is read-only")
)

// causeError is a sentinel with its cause: both match errors.Is.
type causeError struct{ kind, cause error }

func (e *causeError) Error() string   { return fmt.Sprintf("%v: %v", e.kind, e.cause) }
func (e *causeError) Unwrap() []error { return []error{e.kind, e.cause} }

func because(kind, cause error) error {
	if cause == nil {
		return kind
	}
	return &causeError{kind, cause}
}

// SQLState returns the five-character SQLSTATE of a server error in err's
// chain, or "".
func SQLState(err error) string {
	var s interface{ SQLState() string }
	if errors.As(err, &s) {
		return s.SQLState()
	}
	return ""
}

// IsRetryable says whether err is a serialization failure (40001) or a deadlock
// (40P01): the transaction was rolled back and may be run again as a whole.
func IsRetryable(err error) bool {
	s := SQLState(err)
	return s == "40001" || s == "40P01"
}

// isNonFatal says whether err is an error that the server answered and survived
// with its session: at COMMIT, proof that nothing was committed.
func isNonFatal(err error) bool {
	var p *pq.Error
	if errors.As(err, &p) {
		return p.Severity != pqerror.SeverityFatal && p.Severity != pqerror.SeverityPanic
	}
	state := SQLState(err)
	if len(state) != 5 {
		return false
	}
	switch state[:2] {
	case "08", "57", "58", "28", "3D", "53", "F0", "XX": // may be FATAL: the session is gone
		return state == "57014" // query_canceled never is
	case "25":
		return state != "25P03" && state != "25P04"
	}
	return true
}

// IsConnectionError says whether err means that the connection, not the
// statement, failed: nothing more can be sent on it, and its transaction is
// rolled back by the server unless COMMIT was under way.
func IsConnectionError(err error) bool {
	if err == nil {
		return false
	}
	if isClosed(err) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var n *net.OpError
	if errors.As(err, &n) {
		return true
	}
	return SQLState(err) != "" && !isNonFatal(err)
}

// isClosed says whether err is pgx's word that the connection is closed ("conn
// closed", an error of no other kind). It calls it safe to retry, which is not to be
// believed: a COMMIT that was sent and whose answer was lost ends with it too.
func isClosed(err error) bool {
	var u interface{ SafeToRetry() bool }
	return errors.As(err, &u) && u.SafeToRetry()
}

// poisons says whether a transaction in which a statement returned err can no
// longer commit. A server error aborts it; a lost connection ends it; a
// cancelled statement does one or the other, and lib/pq gives up the connection
// in any case. Errors of the client (no rows, scanning, encoding) leave it whole.
func poisons(err error) bool {
	return SQLState(err) != "" || IsConnectionError(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
