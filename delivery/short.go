package delivery

import (
	"context"
	"strconv"
	"time"

	"github.com/tidings-go/tidings/persistence"
)

// shortTimeout bounds the kernel's own short transactions, by their context and
// on the server.
const shortTimeout = 10 * time.Second

// short runs f in a transaction of the kernel's own, never on the pool directly:
// on a dropped connection database/sql would repeat a statement silently. It is
// not cancelled with the work it belongs to: failing and handing back go on
// while the node stops.
func (e *Engine) short(f func(context.Context, *persistence.Transaction) error) error {
	return e.guarded(e.db, f)
}

func (e *Engine) guarded(on required, f func(context.Context, *persistence.Transaction) error) error {
	return unguarded(on, func(ctx context.Context, t *persistence.Transaction) error {
		if err := e.guard(ctx, t); err != nil {
			return err
		}
		return f(ctx, t)
	})
}

// unguarded is for what sets the limits of its transaction itself.
func unguarded(on required, f func(context.Context, *persistence.Transaction) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), shortTimeout)
	defer cancel()
	return on.Required(ctx, persistence.TxOptions{}, f)
}

// guard has the server end the transaction of a process that is paused in it.
func (e *Engine) guard(ctx context.Context, t *persistence.Transaction) error {
	_, err := e.q.guard.Exec(ctx, t, e.limits()...)
	return err
}

// limits are the arguments of limitsSQL for the kernel's own short transactions.
func (e *Engine) limits() []any {
	limit := strconv.FormatInt(shortTimeout.Milliseconds(), 10)
	return []any{limit, backendPrefix(e.config.Schema) + limit}
}

// exec runs one statement in a short transaction.
func (e *Engine) exec(s *persistence.Statement, args ...any) (n int64, err error) {
	err = e.short(func(ctx context.Context, t *persistence.Transaction) error {
		n, err = s.Exec(ctx, t, args...)
		return err
	})
	return n, err
}

// interrupted says whether err came from outside of the statement: a lost
// connection, a shutdown, a cancelled statement, a time-out, a lock, a server that
// is full or read-only. It says nothing about the job, which must not fail for it
// before its listener started.
func interrupted(err error) bool {
	state := persistence.SQLState(err)
	if len(state) != 5 {
		return true
	}
	switch state[:2] {
	case "08", "25", "40", "53", "55", "57", "58":
		return true
	}
	return false
}
