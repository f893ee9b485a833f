// Package drivers runs an app with every supported way to reach PostgreSQL.
package drivers

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/drivers/bouncer"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/usecase"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type (
	Pay  struct{ Cents int64 }
	Paid struct {
		Cents int64
		At    time.Time
		Ref   uuid.UUID
		Note  *string
		Sum   uint64
		Rate  float64
		Raw   []byte
	}
	payDeps struct{ Paid events.Emitter[Paid] }
)

// app is a small app whose listener fails once for every tenth payment.
type app struct {
	mu     sync.Mutex
	failed map[int64]bool
	pay    usecase.Action[Pay]
	db     *sqlx.DB
}

func paid(cents int64) Paid {
	note := "two\nlines"
	return Paid{
		Cents: cents, At: time.Date(2026, 1, 2, 3, 4, 5, 999, time.UTC), Ref: uuid.NewSHA1(uuid.Nil, []byte{byte(cents)}),
		Note: &note, Sum: 1<<64 - 1, Rate: 0.1, Raw: []byte{0, 1},
	}
}

func (a *app) doPay(ctx context.Context, self access.Self[Pay, payDeps]) error {
	if self.Input.Cents < 0 {
		_, _ = self.Tx.ExecContext(ctx, `INSERT INTO nowhere VALUES (1)`) // swallowed
		return nil
	}
	if err := self.Tx.ExecOne(ctx, `INSERT INTO payment VALUES ($1)`, self.Input.Cents); err != nil {
		return err
	}
	return self.Deps.Paid.Emit(ctx, paid(self.Input.Cents))
}

func (a *app) book(ctx context.Context, self events.Self[Paid, struct{}]) error {
	if _, err := self.Tx.NamedExecContext(ctx, `INSERT INTO booked VALUES (:cents)`, map[string]any{"cents": self.Event.Cents}); err != nil {
		return err
	}
	want := paid(self.Event.Cents)
	if !self.Event.At.Equal(want.At) || *self.Event.Note != *want.Note || self.Event.Sum != want.Sum || self.Event.Ref != want.Ref {
		return errors.New("the event was changed on its way")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if self.Event.Cents%10 == 0 && !a.failed[self.Event.Cents] {
		a.failed[self.Event.Cents] = true
		return errors.New("once")
	}
	return nil
}

// way is one way to reach PostgreSQL.
type way struct {
	driver string
	opts   []kernel.Option
	behind bool // behind PgBouncer
}

var ways = map[string]way{
	"lib/pq":               {driver: "postgres"},
	"lib/pq and PgBouncer": {driver: "postgres", opts: []kernel.Option{kernel.PgBouncer()}, behind: true},
	"pgx":                  {driver: "pgx"},
	"pgx and PgBouncer":    {driver: "pgx", opts: []kernel.Option{kernel.PgBouncer()}, behind: true},
}

func (w way) start(t *testing.T) *app {
	a := &app{failed: map[int64]bool{}}
	module := kernel.Module("test",
		events.Declare[Paid]("test.pay.Paid"),
		usecase.DeclareAction("test.pay.Pay", a.doPay),
		events.Deferred("test.pay.Book", a.book, events.Backoff(time.Millisecond, time.Millisecond)))
	ddl, err := kernel.DDL(module)
	require.NoError(t, err)
	dsn := pgtest.Database(t, append(ddl, `CREATE TABLE payment (cents bigint)`, `CREATE TABLE booked (cents bigint)`)...)
	if w.behind {
		dsn = bouncer.Start(t, pgtest.Server(t), dsn, 6)
		if w.driver == "pgx" {
			dsn, err = bouncer.ForPGX(dsn)
			require.NoError(t, err)
		}
	} else {
		w.opts = append(w.opts, kernel.Listen(dsn))
	}
	a.db = sqlx.MustOpen(w.driver, dsn)
	a.db.SetMaxOpenConns(12)
	t.Cleanup(func() { _ = a.db.Close() })
	opts := append(w.opts, kernel.Database(a.db), kernel.Delivery(func(c *delivery.Config) { c.Workers, c.Poll = 4, 50*time.Millisecond }))
	f := fx.New(kernel.Options(opts...), module, fx.Populate(&a.pay), fx.NopLogger)
	require.NoError(t, f.Err())
	require.NoError(t, f.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, f.Stop(context.Background())) })
	return a
}

func TestEveryWayDeliversExactlyOnce(t *testing.T) {
	t.Parallel()
	for name, w := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const payments = 100
			a := w.start(t)
			var publishers sync.WaitGroup
			for p := range 4 {
				publishers.Go(func() {
					for n := p; n < payments; n += 4 {
						if err := a.pay.Execute(t.Context(), Pay{int64(n)}); err != nil {
							t.Errorf("pay %d: %v", n, err)
						}
					}
				})
			}
			publishers.Wait()
			require.Eventually(t, func() bool {
				var open int
				return a.db.Get(&open, `SELECT count(*) FROM tidings.delivery WHERE state <> 'COMPLETED'`) == nil && open == 0
			}, time.Minute, 10*time.Millisecond)
			var wrong int
			require.NoError(t, a.db.Get(&wrong, `SELECT count(*) FROM payment FULL JOIN
				(SELECT cents, count(*) AS n FROM booked GROUP BY cents) b USING (cents) WHERE n IS DISTINCT FROM 1`))
			require.Zero(t, wrong, "every payment is booked once")
		})
	}
}

func TestEveryWaySeesASwallowedError(t *testing.T) {
	t.Parallel()
	for name, w := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := w.start(t).pay.Execute(t.Context(), Pay{-1})
			require.ErrorIs(t, err, persistence.ErrAborted)
			require.Equal(t, "42P01", persistence.SQLState(err))
		})
	}
}
