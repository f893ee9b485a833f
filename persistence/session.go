package persistence

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Querier is what a Statement is sent on: a transaction, or a session.
type Querier interface {
	query(ctx context.Context, s *Statement, args []any) (*sql.Rows, error)
}

// Session is a reserved connection on which every statement is a transaction of its
// own: one round trip, where BEGIN and COMMIT would make it three. That is safe on a
// reserved connection alone: on the pool, database/sql repeats a statement whose
// connection was lost. It serves one goroutine at a time.
type Session struct {
	conn  *sqlx.Conn
	stmts map[*Statement]*sql.Stmt
}

// query prepares the statement on the connection, once.
func (s *Session) query(ctx context.Context, st *Statement, args []any) (*sql.Rows, error) {
	stmt, ok := s.stmts[st]
	if !ok {
		var err error
		if stmt, err = s.conn.PrepareContext(ctx, st.text); err != nil {
			return nil, fmt.Errorf("prepare statement: %w", err)
		}
		s.stmts[st] = stmt
	}
	return stmt.QueryContext(ctx, args...)
}

// HasSessions says whether a connection of the pool is one of the server's: without
// prepared statements, as behind PgBouncer, it may not be.
func (db *Database) HasSessions() bool { return db.prepare }

// Settings is a statement that sets what holds for a session of a reserved
// connection, such as time-outs.
type Settings struct {
	Statement *Statement
	Args      []any
}

// Session runs f with the connection as a session, where the database has sessions.
// Other work on it waits until f returns. Where the connection is taken anew,
// settings run on it first; they stay until it ends: it does not go back to the
// pool. An error of f gives the connection up, unless it is the server's word on a
// statement that is not out of date.
func (r *Reserved) Session(ctx context.Context, settings Settings, f func(context.Context, *Session) error) error {
	return r.inTurn(ctx, func() error {
		if err := r.settle(ctx, settings); err != nil {
			return err
		}
		err := f(ctx, r.session)
		if err != nil && (!isNonFatal(err) || isStale(err)) {
			r.drop()
		}
		return err
	})
}

// settle makes the connection a session, unless it is one.
func (r *Reserved) settle(ctx context.Context, settings Settings) error {
	if r.session != nil {
		return nil
	}
	err := r.transact(ctx, TxOptions{}, func(ctx context.Context, t *Transaction) error {
		_, err := settings.Statement.Exec(ctx, t, settings.Args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	r.session = &Session{conn: r.conn, stmts: map[*Statement]*sql.Stmt{}}
	return nil
}

// QueryAlone runs one statement as a transaction of its own and hands each row to
// scan. It returns an error that wraps ErrUnknownOutcome where the statement was
// sent and its outcome is not known, or where scan failed; every other error means
// that it had no effect.
func (s *Session) QueryAlone(ctx context.Context, st *Statement, args []any, scan func(*sql.Rows) error) error {
	err := st.QueryEach(ctx, s, args, scan)
	if err == nil || isNonFatal(err) {
		return err
	}
	return because(ErrUnknownOutcome, err)
}
