package access

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jmoiron/sqlx"
)

// ErrNoTransaction is returned where a transaction is needed and the context
// carries none: by emit, and by the verbs of Tx in a service that was called
// without one. Nothing was stored or run.
var ErrNoTransaction = errors.New("no transaction")

// Tx is a transaction as an operation sees it: sqlx's verbs and ExecOne. It has
// no Commit, Rollback or Begin; the kernel that opened the transaction ends it,
// and a statement that would end or restart it (COMMIT, ROLLBACK, SAVEPOINT,
// PREPARE TRANSACTION and their like, in any position of the text) is refused
// before it is sent.
//
// A Tx is one connection. Its methods may be called from several goroutines but
// then run one after another; close Rows before the next statement. After the
// operation returned, every verb returns an error.
type Tx interface {
	// ExecContext runs a statement that returns no rows.
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	// ExecOne runs a statement that must change exactly one row. Any other
	// number is an error: an update that must hit a row and hits none is not
	// a success.
	ExecOne(ctx context.Context, query string, args ...any) error
	// GetContext reads one row into dest; no row is sql.ErrNoRows.
	GetContext(ctx context.Context, dest any, query string, args ...any) error
	// SelectContext reads all rows into the slice that dest points to.
	SelectContext(ctx context.Context, dest any, query string, args ...any) error
	// NamedExecContext is ExecContext with :name parameters taken from arg, a
	// struct or a map.
	NamedExecContext(ctx context.Context, query string, arg any) (sql.Result, error)
	// QueryxContext runs a query; the caller closes the rows.
	QueryxContext(ctx context.Context, query string, args ...any) (*sqlx.Rows, error)
	// QueryRowxContext runs a query of which the first row is scanned.
	QueryRowxContext(ctx context.Context, query string, args ...any) *sqlx.Row
}
