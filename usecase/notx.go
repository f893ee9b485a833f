package usecase

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
)

// noTransaction is the Tx of a service that was called without one: every verb
// returns access.ErrNoTransaction.
type noTransaction struct{}

var _ access.Tx = noTransaction{}

func (noTransaction) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, missing("ExecContext")
}

func (noTransaction) ExecOne(context.Context, string, ...any) error { return missing("ExecOne") }

func (noTransaction) GetContext(context.Context, any, string, ...any) error {
	return missing("GetContext")
}

func (noTransaction) SelectContext(context.Context, any, string, ...any) error {
	return missing("SelectContext")
}

func (noTransaction) NamedExecContext(context.Context, string, any) (sql.Result, error) {
	return nil, missing("NamedExecContext")
}

func (noTransaction) QueryxContext(context.Context, string, ...any) (*sqlx.Rows, error) {
	return nil, missing("QueryxContext")
}

func (noTransaction) QueryRowxContext(ctx context.Context, _ string, _ ...any) *sqlx.Row {
	return persistence.ErrRow(ctx, missing("QueryRowxContext"))
}

func missing(verb string) error { return fmt.Errorf("%s: %w", verb, access.ErrNoTransaction) }
