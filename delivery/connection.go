package delivery

import (
	"context"
	"database/sql"

	"github.com/tidings-go/tidings/persistence"
)

// required is what runs transactions: the database, or a reserved connection.
type required interface {
	Required(context.Context, persistence.TxOptions, func(context.Context, *persistence.Transaction) error) error
}

// connection is what heartbeat and claims run on: one that the node keeps, where
// the pool has one to spare. The claimer then waits for no other user of the pool.
type connection interface {
	required
	// alone runs one statement, which sets its own limits, as a transaction of its
	// own. After an error that is not persistence.ErrUnknownOutcome it had no effect.
	alone(s *persistence.Statement, args []any, scan func(*sql.Rows) error) error
	// read runs f with what it may read on, under the limits of short transactions.
	read(f func(context.Context, persistence.Querier) error) error
	// Close gives the connection back.
	Close()
}

// ownConnection returns the node's connection. As a session of the server it takes one
// round trip for a claim, and one for a read.
func (e *Engine) ownConnection() connection {
	if most := e.db.Pool().Stats().MaxOpenConnections; most > 0 && most <= e.config.Connections() {
		return transactions{e.db, e, func() {}}
	}
	own := e.db.Reserve()
	if !e.db.HasSessions() {
		return transactions{own, e, own.Close}
	}
	return session{own, persistence.Settings{Statement: e.q.settings, Args: e.limits()}}
}

// session is a connection of the server's, which has the limits for as long as it
// lasts.
type session struct {
	*persistence.Reserved
	settings persistence.Settings
}

func (s session) run(f func(context.Context, *persistence.Session) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), shortTimeout)
	defer cancel()
	return s.Session(ctx, s.settings, f)
}

func (s session) alone(statement *persistence.Statement, args []any, scan func(*sql.Rows) error) error {
	return s.run(func(ctx context.Context, on *persistence.Session) error {
		return on.QueryAlone(ctx, statement, args, scan)
	})
}

func (s session) read(f func(context.Context, persistence.Querier) error) error {
	return s.run(func(ctx context.Context, on *persistence.Session) error { return f(ctx, on) })
}

// transactions is where nothing can be sent but in a transaction of the client's.
type transactions struct {
	required
	engine *Engine
	close  func()
}

func (t transactions) alone(statement *persistence.Statement, args []any, scan func(*sql.Rows) error) error {
	return unguarded(t.required, func(ctx context.Context, tx *persistence.Transaction) error {
		return statement.QueryEach(ctx, tx, args, scan)
	})
}

func (t transactions) read(f func(context.Context, persistence.Querier) error) error {
	return t.engine.guarded(t.required, func(ctx context.Context, tx *persistence.Transaction) error { return f(ctx, tx) })
}

func (t transactions) Close() { t.close() }

// short is that of the engine on the node's own connection.
func (c *claimer) short(f func(context.Context, *persistence.Transaction) error) error {
	return c.guarded(c.own, f)
}
