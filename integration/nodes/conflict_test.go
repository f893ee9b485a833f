//go:build unix

package nodes_test

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

// attempts says how a listener of the lab was spent.
const attempts = `SELECT sum(attempts) FROM tidings.jobs WHERE listener = 'lab.delivery.' || $1`

// A serialization failure, in a statement or at COMMIT, is retried within the
// attempt, in a transaction of its own.
func TestASerializationFailureIsRetriedWithinTheAttempt(t *testing.T) {
	t.Parallel()
	const rivals = 3
	for name, c := range map[string]struct {
		level sql.IsolationLevel
		use   func(ctx context.Context, tx access.Tx, rival func(string)) error
		sum   int
	}{
		"statement": {sql.LevelRepeatableRead, func(ctx context.Context, tx access.Tx, rival func(string)) error {
			if err := tx.GetContext(ctx, new(int), `SELECT n FROM counter WHERE id = 1`); err != nil {
				return err
			}
			rival(`UPDATE counter SET n = n + 10 WHERE id = 1`)
			return tx.ExecOne(ctx, `UPDATE counter SET n = n + 1 WHERE id = 1`)
		}, 10*rivals + 1},
		"COMMIT": {sql.LevelSerializable, func(ctx context.Context, tx access.Tx, rival func(string)) error {
			if err := tx.GetContext(ctx, new(int), `SELECT n FROM counter WHERE id = 1`); err != nil {
				return err
			}
			if err := tx.ExecOne(ctx, `UPDATE counter SET n = n + 1 WHERE id = 2`); err != nil {
				return err
			}
			rival(`UPDATE counter SET n = (SELECT n FROM counter WHERE id = 2) + 10 WHERE id = 1`)
			return nil
		}, 10 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var base *lab.Base
			var tries atomic.Int32
			plan := lab.Plan{Listeners: []lab.Listener{{Name: "A", Isolation: c.level, Run: func(ctx context.Context, self lab.Self) error {
				n := tries.Add(1)
				if err := lab.Effect(ctx, self); err != nil {
					return err
				}
				return c.use(ctx, self.Tx, func(statement string) {
					if n <= rivals {
						serializable(base.DB, statement)
					}
				})
			}}}}
			base = lab.NewBase(t, plan)
			base.Exec(`CREATE TABLE counter (id integer PRIMARY KEY, n integer NOT NULL); INSERT INTO counter VALUES (1, 0), (2, 0)`)
			lab.Start(t, base.URL, plan).Put(t, 1, "")
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.EqualValues(t, rivals+1, tries.Load())
			require.Equal(t, 1, base.Int(attempts, "A"), base.Describe())
			require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history`))
			require.Equal(t, c.sum, base.Int(`SELECT sum(n) FROM counter`))
		})
	}
}

// serializable runs a rival's statement in a transaction of its own.
func serializable(db *sqlx.DB, statement string) {
	tx := db.MustBegin()
	tx.MustExec(`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`)
	tx.MustExec(statement)
	if err := tx.Commit(); err != nil {
		panic(err)
	}
}

// A conflict that does not end is a failed attempt, with its reason.
func TestAConflictThatDoesNotEndSpendsTheAttempt(t *testing.T) {
	t.Parallel()
	var base *lab.Base
	var tries atomic.Int32
	plan := lab.Plan{Listeners: []lab.Listener{{
		Name: "A", Isolation: sql.LevelRepeatableRead, MaxAttempts: 2, First: time.Millisecond,
		Run: func(ctx context.Context, self lab.Self) error {
			tries.Add(1)
			if err := self.Tx.GetContext(ctx, new(int), `SELECT n FROM counter`); err != nil {
				return err
			}
			base.DB.MustExec(`UPDATE counter SET n = n + 10`)
			return self.Tx.ExecOne(ctx, `UPDATE counter SET n = n + 1`)
		},
	}}}
	base = lab.NewBase(t, plan)
	base.Exec(`CREATE TABLE counter (n integer NOT NULL); INSERT INTO counter VALUES (0)`)
	lab.Start(t, base.URL, plan).Put(t, 1, "")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.EqualValues(t, 2*6, tries.Load(), "two attempts of a try and five more")
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED' AND attempts = 2 AND last_error LIKE '%40001%'`), base.Describe())
}

// Two listeners of one event that lock the same rows in opposite orders.
func TestListenersThatDeadlockEachOtherBothEndInOneAttempt(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	var both sync.WaitGroup // both hold their first row
	both.Add(2)
	lock := func(first, second int) func(context.Context, lab.Self) error {
		var once sync.Once
		return func(ctx context.Context, self lab.Self) error {
			tries.Add(1)
			if err := lab.Effect(ctx, self); err != nil {
				return err
			}
			if err := self.Tx.ExecOne(ctx, `UPDATE account SET n = n + 1 WHERE id = $1`, first); err != nil {
				return err
			}
			once.Do(func() {
				both.Done()
				both.Wait()
			})
			return self.Tx.ExecOne(ctx, `UPDATE account SET n = n + 1 WHERE id = $1`, second)
		}
	}
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A", Run: lock(1, 2)}, {Name: "B", Run: lock(2, 1)}}}
	base := lab.NewBase(t, plan)
	base.Exec(`CREATE TABLE account (id integer PRIMARY KEY, n integer NOT NULL); INSERT INTO account VALUES (1, 0), (2, 0)`)
	lab.Start(t, base.URL, plan).Put(t, 1, "")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.GreaterOrEqual(t, tries.Load(), int32(3), "they were to deadlock")
	require.Equal(t, 1, base.Int(attempts, "A"), base.Describe())
	require.Equal(t, 1, base.Int(attempts, "B"), base.Describe())
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history`))
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM account WHERE n = 2`))
}

type (
	strict     struct{ Seq int64 }
	asked      struct{ Seq int64 }
	strictDeps struct{ Strict usecase.Action[strict] }
	askDeps    struct{ Ask usecase.Service[asked, int64] }
)

// strictly declares a usecase that wants more than the usual transaction has, and
// a service that calls it: what the service's caller owns is not known at boot.
var strictly = []fx.Option{
	usecase.DeclareAction("lab.delivery.Strict", func(ctx context.Context, self access.Self[strict, none]) error {
		return self.Tx.GetContext(ctx, new(int), `SELECT 1`)
	}, usecase.Isolation(sql.LevelSerializable)),
	usecase.DeclareService("lab.delivery.Ask", func(ctx context.Context, self access.Self[asked, strictDeps]) (int64, error) {
		return self.Input.Seq, self.Deps.Strict.Execute(ctx, strict(self.Input))
	}),
}

func TestAListenerThatCallsWhatAsksForMoreIsRefusedAtBoot(t *testing.T) {
	t.Parallel()
	calls := func(opts ...events.ListenerOption) error {
		plan := lab.Plan{More: append(strictly[:2:2], events.Deferred("lab.delivery.Calls",
			func(context.Context, events.Self[lab.Task, strictDeps]) error { return nil }, opts...))}
		db, err := sqlx.Open("postgres", "postgres://nobody@127.0.0.1:1/nowhere")
		require.NoError(t, err)
		defer db.Close()
		return fx.New(kernel.Options(kernel.Database(db)), plan.Module(), fx.NopLogger).Err()
	}
	err := calls()
	require.ErrorIs(t, err, kernel.ErrDeclarations)
	require.ErrorIs(t, err, persistence.ErrIncompatible)
	for _, part := range []string{"lab.delivery.Calls", "lab.delivery.Strict", "field Strict", "conflict_test.go"} {
		require.ErrorContains(t, err, part)
	}
	require.ErrorIs(t, calls(events.Isolation(sql.LevelRepeatableRead)), persistence.ErrIncompatible)
	require.NoError(t, calls(events.Isolation(sql.LevelSerializable)))
}

func TestAListenerThatCallsWhatAsksForMoreThroughAServiceFails(t *testing.T) {
	t.Parallel()
	plan := lab.Plan{More: strictly[:2:2]}
	for name, opts := range map[string][]events.ListenerOption{
		"Usual": {events.MaxAttempts(1)}, "Serializable": {events.Isolation(sql.LevelSerializable)},
	} {
		plan.More = append(plan.More, events.Deferred(lab.Identity(name), func(ctx context.Context, self events.Self[lab.Task, askDeps]) error {
			if _, err := self.Deps.Ask.Call(ctx, asked{self.Event.Seq}); err != nil {
				return err
			}
			return lab.Effect(ctx, lab.Self{Event: self.Event, Meta: self.Meta, Tx: self.Tx})
		}, opts...))
	}
	base := lab.NewBase(t, plan)
	lab.Start(t, base.URL, plan).Put(t, 1, "")
	base.AwaitSettled()
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE listener = 'lab.delivery.Usual' AND state = 'FAILED'
		AND reason = $1 AND last_error LIKE '%' || $2 || '%'`, delivery.FailureListener, persistence.ErrIncompatible.Error()), base.Describe())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE listener = 'lab.delivery.Serializable' AND state = 'COMPLETED'`), base.Describe())
}
