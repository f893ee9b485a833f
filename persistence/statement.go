package persistence

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
)

// Statement is a statement of the kernel that runs often. Prepared once on the
// pool it takes one round trip in a transaction instead of two.
type Statement struct {
	db   *Database
	text string
	stmt atomic.Pointer[sql.Stmt]
}

// Statement returns the statement with this text, the same one for the same
// text. It works at once; Prepare makes it fast.
func (db *Database) Statement(text string) *Statement {
	db.mu.Lock()
	defer db.mu.Unlock()
	s, ok := db.statements[text]
	if !ok {
		s = &Statement{db: db, text: text}
		db.statements[text] = s
	}
	return s
}

// Prepare prepares the statement on the pool; again is no error. It takes a
// connection for the moment, so do not call it inside a transaction.
func (s *Statement) Prepare(ctx context.Context) error {
	if !s.db.prepare || s.stmt.Load() != nil {
		return nil
	}
	stmt, err := s.db.pool.PrepareContext(ctx, s.text)
	if err != nil {
		return fmt.Errorf("prepare statement: %w", err)
	}
	if !s.stmt.CompareAndSwap(nil, stmt) {
		return stmt.Close()
	}
	return nil
}

// CloseStatements closes what was prepared, by Prepare and for the app's own
// statements; a later Prepare does it anew.
func (db *Database) CloseStatements() {
	db.hot.close()
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, s := range db.statements {
		if stmt := s.stmt.Swap(nil); stmt != nil {
			_ = stmt.Close()
		}
	}
}

// Query runs the statement on q. The caller closes the rows; a transaction learns
// of an error of theirs by itself.
func (s *Statement) Query(ctx context.Context, q Querier, args ...any) (*sql.Rows, error) {
	return q.query(ctx, s, args)
}

// QueryEach runs the statement on q and hands each row to scan, whose error ends it.
func (s *Statement) QueryEach(ctx context.Context, q Querier, args []any, scan func(*sql.Rows) error) error {
	rows, err := s.Query(ctx, q, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err() // the rows have ended, and with them what the statement does
}

func (t *Transaction) query(ctx context.Context, s *Statement, args []any) (*sql.Rows, error) {
	if err := t.enter(); err != nil {
		return nil, err
	}
	defer t.leave()
	var rows *sql.Rows
	var err error
	if stmt := s.stmt.Load(); stmt != nil {
		rows, err = t.prepared(ctx, stmt).QueryContext(ctx, args...)
	} else {
		rows, err = t.tx.QueryContext(ctx, s.text, args...)
	}
	if err = t.note(err); err != nil {
		return nil, err
	}
	t.handOut(rows.Err, func() { _ = rows.Close() })
	return rows, nil
}

// QueryOne runs the statement in t and scans its first row; no row is
// sql.ErrNoRows.
func (s *Statement) QueryOne(ctx context.Context, t *Transaction, args []any, dest ...any) error {
	rows, err := s.Query(ctx, t, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return t.note(err)
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return t.note(err)
	}
	return t.note(rows.Close())
}

// Exec runs the statement in t and returns the number of changed rows.
func (s *Statement) Exec(ctx context.Context, t *Transaction, args ...any) (int64, error) {
	if err := t.enter(); err != nil {
		return 0, err
	}
	defer t.leave()
	var res sql.Result
	var err error
	if stmt := s.stmt.Load(); stmt != nil {
		res, err = t.prepared(ctx, stmt).ExecContext(ctx, args...)
	} else {
		res, err = t.tx.ExecContext(ctx, s.text, args...)
	}
	if err != nil {
		return 0, t.note(err)
	}
	return res.RowsAffected()
}
