package persistence

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// statement returns the prepared statement of query in t, or nil where it is sent
// as text; an error if it cannot be sent at all. Without an error the caller calls
// leave once the statement is answered.
func (t *Transaction) statement(ctx context.Context, query string, args []any) (stmt *sqlx.Stmt, err error) {
	if err := t.enter(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.leave()
		}
	}()
	if !t.db.prepare || len(args) == 0 { // without arguments text takes one round trip too
		return nil, refuseControl(query)
	}
	known, err := t.db.hot.get(query)
	if err != nil || known == nil {
		return nil, err
	}
	return t.prepared(ctx, known), nil
}

// outcome notes the error of a statement that query was sent by.
func (t *Transaction) outcome(query string, err error) error {
	if err != nil {
		t.db.hot.stale(query, err)
	}
	return t.note(err)
}

// ExecContext runs a statement that returns no rows.
func (t *Transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := t.statement(ctx, query, args)
	if err != nil {
		return nil, err
	}
	defer t.leave()
	var res sql.Result
	if stmt != nil {
		res, err = stmt.ExecContext(ctx, args...)
	} else {
		res, err = t.tx.ExecContext(ctx, query, args...)
	}
	return res, t.outcome(query, err)
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
	stmt, err := t.statement(ctx, query, args)
	if err != nil {
		return err
	}
	defer t.leave()
	if stmt != nil {
		err = stmt.GetContext(ctx, dest, args...)
	} else {
		err = t.tx.GetContext(ctx, dest, query, args...)
	}
	return t.outcome(query, err)
}

// SelectContext reads all rows into the slice that dest points to.
func (t *Transaction) SelectContext(ctx context.Context, dest any, query string, args ...any) error {
	stmt, err := t.statement(ctx, query, args)
	if err != nil {
		return err
	}
	defer t.leave()
	if stmt != nil {
		err = stmt.SelectContext(ctx, dest, args...)
	} else {
		err = t.tx.SelectContext(ctx, dest, query, args...)
	}
	return t.outcome(query, err)
}

// NamedExecContext runs a statement with :name parameters from arg.
func (t *Transaction) NamedExecContext(ctx context.Context, query string, arg any) (sql.Result, error) {
	if err := refuseControl(query); err != nil { // as written, and as bound below
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
	stmt, err := t.statement(ctx, query, args)
	if err != nil {
		return nil, err
	}
	defer t.leave()
	var rows *sqlx.Rows
	if stmt != nil {
		rows, err = stmt.QueryxContext(ctx, args...)
	} else {
		rows, err = t.tx.QueryxContext(ctx, query, args...)
	}
	if err = t.outcome(query, err); err != nil {
		return nil, err
	}
	t.handOut(rows.Err, func() { _ = rows.Close() })
	return rows, nil
}

// QueryRowxContext runs a query of which the first row is scanned.
func (t *Transaction) QueryRowxContext(ctx context.Context, query string, args ...any) *sqlx.Row {
	stmt, err := t.statement(ctx, query, args)
	if err != nil {
		return ErrRow(ctx, err)
	}
	defer t.leave()
	var row *sqlx.Row
	if stmt != nil {
		row = stmt.QueryRowxContext(ctx, args...)
	} else {
		row = t.tx.QueryRowxContext(ctx, query, args...)
	}
	if t.outcome(query, row.Err()) == nil {
		t.handOut(func() error { // Columns tells what Err does not: the error that closed the rows
			_, err := row.Columns()
			return err
		}, func() { _ = row.Scan() }) // which closes it, having read nothing
	}
	return row
}
