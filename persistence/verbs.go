package persistence

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// ready returns an error if query cannot be sent in t.
func (t *Transaction) ready(query string) error {
	if err := t.usable(); err != nil {
		return err
	}
	return refuseControl(query)
}

// ExecContext runs a statement that returns no rows.
func (t *Transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.ready(query); err != nil {
		return nil, err
	}
	res, err := t.tx.ExecContext(ctx, query, args...)
	return res, t.note(err)
}

// ExecOne runs a statement that must change exactly one row; another number is
// ErrNotOneRow.
func (t *Transaction) ExecOne(ctx context.Context, query string, args ...any) error {
	res, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("count changed rows: %w", err)
	}
	if n != 1 {
		return fmt.Errorf("%w: %d rows: %.200s", ErrNotOneRow, n, query)
	}
	return nil
}

// GetContext reads one row into dest; no row is sql.ErrNoRows.
func (t *Transaction) GetContext(ctx context.Context, dest any, query string, args ...any) error {
	if err := t.ready(query); err != nil {
		return err
	}
	return t.note(t.tx.GetContext(ctx, dest, query, args...))
}

// SelectContext reads all rows into the slice that dest points to.
func (t *Transaction) SelectContext(ctx context.Context, dest any, query string, args ...any) error {
	if err := t.ready(query); err != nil {
		return err
	}
	return t.note(t.tx.SelectContext(ctx, dest, query, args...))
}

// NamedExecContext runs a statement with :name parameters from arg.
func (t *Transaction) NamedExecContext(ctx context.Context, query string, arg any) (sql.Result, error) {
	if err := t.ready(query); err != nil {
		return nil, err
	}
	bound, args, err := sqlx.BindNamed(sqlx.DOLLAR, query, arg)
	if err != nil {
		return nil, fmt.Errorf("bind named parameters: %w", err)
	}
	return t.ExecContext(ctx, bound, args...)
}

// QueryxContext runs a query; the caller closes the rows.
func (t *Transaction) QueryxContext(ctx context.Context, query string, args ...any) (*sqlx.Rows, error) {
	if err := t.ready(query); err != nil {
		return nil, err
	}
	rows, err := t.tx.QueryxContext(ctx, query, args...)
	if err = t.note(err); err != nil {
		return nil, err
	}
	t.handOut(rows.Err)
	return rows, nil
}

// QueryRowxContext runs a query of which the first row is scanned.
func (t *Transaction) QueryRowxContext(ctx context.Context, query string, args ...any) *sqlx.Row {
	if err := t.ready(query); err != nil {
		return ErrRow(ctx, err)
	}
	row := t.tx.QueryRowxContext(ctx, query, args...)
	if t.note(row.Err()) == nil {
		t.handOut(func() error { // Columns tells what Err does not: the error that closed the rows
			_, err := row.Columns()
			return err
		})
	}
	return row
}
