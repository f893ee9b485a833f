package persistence

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// DefaultCommitTimeout bounds the wait for the answer to COMMIT. It is long,
// since an unknown outcome is worse than a slow one.
const DefaultCommitTimeout = 30 * time.Second

// Database runs transactions on one pool. It is safe for concurrent use. Two
// Databases in one process do not see each other's transactions, even on one
// context.
type Database struct {
	pool          *sqlx.DB
	commitTimeout time.Duration
	prepare       bool

	mu         sync.Mutex
	statements map[string]*Statement // the kernel's own
	hot        *hotStatements        // the app's
}

// Option configures a Database.
type Option func(*Database)

// CommitTimeout sets how long to wait for the answer to COMMIT before its
// outcome counts as unknown; default DefaultCommitTimeout.
func CommitTimeout(d time.Duration) Option {
	return func(db *Database) { db.commitTimeout = d }
}

// WithoutPreparedStatements sends every statement as text, as PgBouncer in
// transaction mode needs it. It costs a round trip per statement with
// arguments.
func WithoutPreparedStatements() Option {
	return func(db *Database) { db.prepare = false }
}

// New returns a Database on pool. The pool stays the caller's: New opens
// nothing, and nothing here closes it.
func New(pool *sqlx.DB, opts ...Option) *Database {
	db := &Database{pool: pool, commitTimeout: DefaultCommitTimeout, prepare: true, statements: map[string]*Statement{}}
	db.hot = newHotStatements(pool)
	for _, o := range opts {
		o(db)
	}
	return db
}

// Pool returns the pool, for reading and for its settings. No write of the
// kernel goes through it: on a dropped connection database/sql with lib/pq
// silently repeats a statement outside a transaction (tried: two rows, no
// error).
func (db *Database) Pool() *sqlx.DB { return db.pool }

// TxOptions says what an operation asks of its transaction.
type TxOptions struct {
	ReadOnly  bool
	Isolation sql.IsolationLevel
}

// HasIsolation says whether PostgreSQL has the isolation level.
func HasIsolation(level sql.IsolationLevel) bool {
	switch level {
	case sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable:
		return true
	}
	return false
}

// Offers returns ErrIncompatible if a transaction opened with o has less than a
// participant asks for.
func (o TxOptions) Offers(participant TxOptions) error {
	if o.ReadOnly && !participant.ReadOnly {
		return fmt.Errorf("%w: it is read-only and the operation may write", ErrIncompatible)
	}
	if participant.Isolation > o.Isolation && participant.Isolation > sql.LevelReadCommitted {
		return fmt.Errorf("%w: it runs %s and the operation wants %s", ErrIncompatible, o.Isolation, participant.Isolation)
	}
	return nil
}

type txKey struct{ db *Database }

// Current returns the active transaction that ctx carries.
func (db *Database) Current(ctx context.Context) (*Transaction, bool) {
	t, ok := ctx.Value(txKey{db}).(*Transaction)
	if !ok || t.hasEnded() {
		return nil, false
	}
	return t, true
}

// Bind returns a context that carries t.
func (db *Database) Bind(ctx context.Context, t *Transaction) context.Context {
	return context.WithValue(ctx, txKey{db}, t)
}

type readOnlyKey struct{ db *Database }

// IsReadOnly says whether the operation that ctx belongs to declared itself
// read-only, be it as the owner of the transaction or as a participant.
func (db *Database) IsReadOnly(ctx context.Context) bool {
	readOnly, _ := ctx.Value(readOnlyKey{db}).(bool)
	return readOnly
}

// Required runs f in the transaction that ctx carries, or else in a new one that
// it commits if f returns nil and rolls back otherwise, also when f panics or
// ends its goroutine.
//
// In a joined transaction an error of f, or its panic, marks the transaction
// rollback-only: what f had written cannot be committed by an owner that
// swallows the error; the owner then gets ErrRollbackOnly.
func (db *Database) Required(ctx context.Context, o TxOptions, f func(context.Context, *Transaction) error) error {
	if t, ok := db.Current(ctx); ok {
		return t.join(ctx, o, f)
	}
	t, err := db.Begin(ctx, o)
	if err != nil {
		return err
	}
	return db.run(ctx, t, f)
}

// run runs f in t, which it ends.
func (db *Database) run(ctx context.Context, t *Transaction, f func(context.Context, *Transaction) error) error {
	defer t.Rollback()
	inner := db.Bind(ctx, t)
	if t.opts.ReadOnly {
		inner = context.WithValue(inner, readOnlyKey{db}, true)
	}
	if err := f(inner, t); err != nil {
		return err
	}
	return t.Commit(ctx)
}

// Begin opens a transaction on a connection of its own. Waiting for the
// connection, and for the answer to BEGIN, ends with ctx; after that a cancelled ctx
// ends the statements that it is passed to, but never rolls back underneath running
// code: the transaction lives until Commit or Rollback.
func (db *Database) Begin(ctx context.Context, o TxOptions) (*Transaction, error) {
	more := -1 // how many stale connections may follow; negative: not known yet
	for {
		conn, err := db.pool.Connx(ctx)
		if err != nil {
			return nil, fmt.Errorf("open transaction: get connection: %w", err)
		}
		t, err := db.beginOn(ctx, conn, o, false)
		if err == nil {
			return t, nil
		}
		// BEGIN has no effect that could be repeated, so a connection that went
		// stale in the pool (a restarted server leaves a pool of them) is
		// replaced: by the idle ones, which may be as stale, and then by a new one.
		// One that is new and fails too is no stale one: behind a pooler whose
		// server is down every one of them opens, and none begins.
		if more < 0 {
			more = db.pool.Stats().Idle + 1
		}
		if !IsConnectionError(err) || more == 0 || ctx.Err() != nil {
			return nil, fmt.Errorf("open transaction: %w", err)
		}
		more--
	}
}

// beginOn opens a transaction on conn; after an error it gives conn back, or ends it.
// lib/pq waits for the answer whatever ctx says, and it can be long in coming: a silent
// network, a pooler without a free connection. So the answer is left to a goroutine,
// which ends with it.
func (db *Database) beginOn(ctx context.Context, conn *sqlx.Conn, o TxOptions, end bool) (*Transaction, error) {
	type begun struct {
		tx  *sqlx.Tx
		err error
	}
	answer := make(chan begun, 1)
	go func() {
		tx, err := conn.BeginTxx(context.WithoutCancel(ctx), &sql.TxOptions{ReadOnly: o.ReadOnly, Isolation: o.Isolation})
		if err != nil {
			giveBack(conn, end)
		}
		answer <- begun{tx, err}
	}()
	select {
	case b := <-answer:
		if b.err != nil {
			return nil, b.err
		}
		return &Transaction{db: db, link: &link{conn: conn, tx: b.tx}, opts: o}, nil
	case <-ctx.Done():
		go func() {
			if b := <-answer; b.err == nil {
				_ = b.tx.Rollback()
				giveBack(conn, end)
			}
		}()
		return nil, ctx.Err()
	}
}
