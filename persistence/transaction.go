package persistence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"
)

// Transaction is one transaction on one connection. Owner and participants
// share it. Its methods are safe for concurrent use; statements run one after
// another.
type Transaction struct {
	db    *Database
	*link        // the connection and what database/sql knows of the transaction
	chain *Chain // nil: the transaction stands alone
	opts  TxOptions
	kept  bool // the connection is another's to give back

	// sending is held for reading by every statement until it is answered, and by
	// the end of the transaction: what a goroutine of the app's sends late must not
	// come after COMMIT.
	sending sync.RWMutex

	mu           sync.Mutex
	ended        bool
	rollbackOnly error
	failed       error        // the first error that keeps the transaction from committing
	late         func() error // of the last rows handed out: their error shows only later
	shut         func()       // closes them
	afterCommit  []func()
}

// IsReadOnly says whether the transaction was opened read-only.
func (t *Transaction) IsReadOnly() bool { return t.opts.ReadOnly }

// SetRollbackOnly marks the transaction: Commit will roll it back and return
// ErrRollbackOnly with the first cause.
func (t *Transaction) SetRollbackOnly(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rollbackOnly == nil {
		t.rollbackOnly = cause
	}
}

// AfterCommit has f called once the transaction is known to be committed, and
// not at all otherwise; in the order of the calls, on the goroutine of Commit.
func (t *Transaction) AfterCommit(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.afterCommit = append(t.afterCommit, f)
}

// join runs f as a participant.
func (t *Transaction) join(ctx context.Context, o TxOptions, f func(context.Context, *Transaction) error) error {
	offered := t.opts
	offered.ReadOnly = offered.ReadOnly || t.db.IsReadOnly(ctx) // a participant may be, in an owner that writes
	if err := offered.Offers(o); err != nil {
		return err
	}
	if o.ReadOnly {
		ctx = context.WithValue(ctx, readOnlyKey{t.db}, true)
	}
	returned := false
	defer func() {
		if !returned {
			t.SetRollbackOnly(errors.New("a participant panicked or ended its goroutine"))
		}
	}()
	err := f(ctx, t)
	returned = true
	if err != nil {
		t.SetRollbackOnly(err)
	}
	return err
}

// enter returns an error if no statement can be sent; else the end of the
// transaction waits until leave is called.
func (t *Transaction) enter() error {
	t.sending.RLock()
	if t.hasEnded() {
		t.sending.RUnlock()
		return ErrEnded
	}
	return nil
}

func (t *Transaction) leave() { t.sending.RUnlock() }

func (t *Transaction) hasEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// note remembers the first error that keeps the transaction from committing,
// and returns err.
func (t *Transaction) note(err error) error {
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.forget()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.harvest()
	t.keep(err)
	return err
}

func (t *Transaction) keep(err error) {
	if err != nil && t.failed == nil && poisons(err) {
		t.failed = err
	}
}

// harvest notes the error of the rows last handed out: the caller that closed
// them may have swallowed it.
func (t *Transaction) harvest() {
	if t.late != nil {
		t.keep(t.late())
	}
}

// handOut has the error of rows harvested later, and the rows closed at the end.
func (t *Transaction) handOut(late func() error, shut func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late, t.shut = late, shut
}

// Commit commits, unless the transaction is rollback-only or was aborted, or ctx
// is done: then it rolls back and returns why. It returns an error that wraps
// ErrUnknownOutcome where COMMIT was sent and its outcome is not known; every
// other error means that nothing was committed.
func (t *Transaction) Commit(ctx context.Context) error {
	if err := t.refuseCommit(ctx); err != nil {
		t.Rollback()
		return err
	}
	if t.givenUp() {
		t.Rollback()
		return fmt.Errorf("not committed: the driver gave the connection up: %w", driver.ErrBadConn)
	}
	hooks, ok := t.end()
	if !ok {
		return ErrEnded
	}
	if err := t.commit(len(hooks) == 0); err != nil {
		return err
	}
	for _, f := range hooks {
		f()
	}
	return nil
}

func (t *Transaction) refuseCommit(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return ErrEnded
	}
	t.harvest()
	switch {
	case t.rollbackOnly != nil:
		return because(ErrRollbackOnly, t.rollbackOnly)
	case t.failed != nil:
		return because(ErrAborted, t.failed)
	case ctx.Err() != nil:
		return fmt.Errorf("not committed: %w", context.Cause(ctx))
	}
	return nil
}

// givenUp says whether the driver will send nothing more on the connection: lib/pq
// closes one where a context ends in the moment in which its statement succeeds
// (tried), and COMMIT would then fail like one whose answer was lost.
func (t *Transaction) givenUp() bool {
	valid := true
	err := t.conn.Raw(func(c any) error {
		if v, ok := c.(driver.Validator); ok {
			valid = v.IsValid()
		}
		return nil
	})
	return err != nil || !valid
}

// Doomed returns why Commit would refuse to commit, or nil.
func (t *Transaction) Doomed() error { return t.refuseCommit(context.Background()) }

// FirstError returns the first error that keeps the transaction from committing,
// or nil: every statement after it fails with 25P02 alone, which tells nothing.
func (t *Transaction) FirstError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.harvest()
	return t.failed
}

// end marks the transaction as ended and returns its hooks, once.
func (t *Transaction) end() ([]func(), bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, false
	}
	t.ended = true
	return t.afterCommit, true
}

// commit sends COMMIT and waits for its answer up to the time-out. Behind it
// the connection goes back when the driver gives it up. Alone: with no work to do
// afterwards.
func (t *Transaction) commit(alone bool) error {
	chained := t.chain != nil && alone && t.chain.goesOn(t)
	answer := make(chan error, 1)
	go func() {
		if chained {
			answer <- t.commitAndChain()
			return
		}
		err := t.tx.Commit()
		t.release()
		answer <- err
	}()
	timer := time.NewTimer(t.db.commitTimeout)
	defer timer.Stop()
	select {
	case err := <-answer:
		if chained && err == nil {
			t.chain.next = t.link
		}
		return commitError(err)
	case <-timer.C:
		if chained {
			go func() {
				if <-answer == nil {
					t.drop()
				}
			}()
		}
		return fmt.Errorf("%w: no answer in %v", ErrUnknownOutcome, t.db.commitTimeout)
	}
}

// commitError tells known failures from unknown outcomes: known is a non-fatal
// error of the server, and the server's word that the transaction was already
// aborted.
func commitError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pq.ErrInFailedTransaction), SQLState(err) == "25P02",
		strings.Contains(err.Error(), "unexpected command tag ROLLBACK"),          // lib/pq
		strings.Contains(err.Error(), "commit unexpectedly resulted in rollback"): // pgx.ErrTxCommitRollback
		return because(ErrAborted, err)
	case isNonFatal(err):
		return fmt.Errorf("commit: %w", err)
	default:
		return because(ErrUnknownOutcome, err)
	}
}

// Rollback rolls back and gives the connection back; after Commit or Rollback it
// does nothing.
func (t *Transaction) Rollback() {
	if _, ok := t.end(); !ok {
		return
	}
	// An error here means a lost connection, whose transaction the server ends.
	_ = t.tx.Rollback()
	t.release()
}

// release gives the connection back to the pool, unless it is a reserved one.
func (t *Transaction) release() {
	if !t.kept {
		_ = t.conn.Close()
	}
}
