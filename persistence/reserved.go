package persistence

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Reserved is a connection of the pool that is kept, for transactions that must
// not wait behind the app's: database/sql serves those who wait for a connection
// in no order. It is safe for concurrent use; its transactions run one after
// another. A lost connection is replaced, from the pool, when the next
// transaction begins. The pool's limits of age do not end it.
type Reserved struct {
	db   *Database
	turn chan struct{} // holds one while a transaction runs
	conn *sqlx.Conn    // nil: to be taken from the pool

	session *Session // nil: the connection is not one
}

// Reserve returns a reserved connection. It is taken from the pool when the first
// transaction begins.
func (db *Database) Reserve() *Reserved {
	return &Reserved{db: db, turn: make(chan struct{}, 1)}
}

// Required is Database.Required on the reserved connection, but for a transaction
// that ctx carries: it opens one of its own.
func (r *Reserved) Required(ctx context.Context, o TxOptions, f func(context.Context, *Transaction) error) error {
	return r.inTurn(ctx, func() error { return r.transact(ctx, o, f) })
}

// inTurn runs f while nothing else uses the connection.
func (r *Reserved) inTurn(ctx context.Context, f func() error) error {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("open transaction: wait for the reserved connection: %w", ctx.Err())
	}
	defer func() { <-r.turn }()
	return f()
}

func (r *Reserved) transact(ctx context.Context, o TxOptions, f func(context.Context, *Transaction) error) error {
	t, err := r.begin(ctx, o)
	if err != nil {
		return err
	}
	err = r.db.run(ctx, t, f)
	if err != nil && (errors.Is(err, ErrUnknownOutcome) || IsConnectionError(err)) {
		r.drop()
	}
	return err
}

// begin opens a transaction; a connection that went stale is replaced.
func (r *Reserved) begin(ctx context.Context, o TxOptions) (*Transaction, error) {
	if r.conn != nil {
		t, err := r.db.beginOn(ctx, r.conn, o, r.session != nil)
		if err == nil {
			t.kept = true
			return t, nil
		}
		r.conn, r.session = nil, nil
		if !IsConnectionError(err) || ctx.Err() != nil {
			return nil, fmt.Errorf("open transaction: %w", err)
		}
	}
	t, err := r.db.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	r.conn, t.kept = t.conn, true
	return t, nil
}

// drop gives the connection back. That can wait for the driver, which may wait for
// a server that is silent.
func (r *Reserved) drop() {
	if conn := r.conn; conn != nil {
		go giveBack(conn, r.session != nil)
		r.conn, r.session = nil, nil
	}
}

// giveBack gives a connection back to the pool, or ends it: the settings of a
// session are not for others.
func giveBack(conn *sqlx.Conn, end bool) {
	if end {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = conn.Close()
}

// Close gives the connection back to the pool, or ends it if it was a session, after
// what is under way. What comes later takes one anew.
func (r *Reserved) Close() {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.conn != nil {
		giveBack(r.conn, r.session != nil)
		r.conn, r.session = nil, nil
	}
}
