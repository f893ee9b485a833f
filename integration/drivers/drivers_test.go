// Package drivers runs an app with every supported way to reach PostgreSQL.
package drivers

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
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

func TestPgxDelivers(t *testing.T) {
	t.Parallel()
	note := "two\nlines"
	sent := Paid{Cents: 5, At: time.Date(2026, 1, 2, 3, 4, 5, 999, time.UTC), Ref: uuid.New(), Note: &note, Sum: 1<<64 - 1, Rate: 0.1, Raw: []byte{0, 1}}
	var fails atomic.Int32
	got := make(chan Paid, 4)
	module := kernel.Module("test",
		events.Declare[Paid]("test.pay.Paid"),
		usecase.DeclareAction("test.pay.Pay", func(ctx context.Context, self access.Self[Pay, payDeps]) error {
			if self.Input.Cents < 0 {
				_, _ = self.Tx.ExecContext(ctx, `INSERT INTO nowhere VALUES (1)`) // swallowed
				return nil
			}
			return self.Deps.Paid.Emit(ctx, sent)
		}),
		events.Deferred("test.pay.Book", func(ctx context.Context, self events.Self[Paid, struct{}]) error {
			if _, err := self.Tx.NamedExecContext(ctx, `INSERT INTO booked VALUES (:cents, :attempt)`,
				map[string]any{"cents": self.Event.Cents, "attempt": self.Meta.Attempt}); err != nil {
				return err
			}
			if fails.Add(1) == 1 {
				return errors.New("once")
			}
			got <- self.Event
			return nil
		}, events.Backoff(time.Millisecond, time.Millisecond)))

	ddl, err := kernel.DDL(module)
	require.NoError(t, err)
	url := pgtest.Database(t, append(ddl, `CREATE TABLE booked (cents bigint, attempt int)`)...)
	db := sqlx.MustOpen("pgx", url)
	t.Cleanup(func() { _ = db.Close() })
	var pay usecase.Action[Pay]
	app := fx.New(kernel.Options(kernel.Database(db), kernel.Listen(url)), module, fx.Populate(&pay), fx.NopLogger)
	require.NoError(t, app.Err())
	require.NoError(t, app.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, app.Stop(context.Background())) })

	require.NoError(t, pay.Execute(t.Context(), Pay{5}))
	event := <-got
	require.True(t, event.At.Equal(sent.At))
	event.At = sent.At
	require.Equal(t, sent, event)
	err = pay.Execute(t.Context(), Pay{-1})
	require.ErrorIs(t, err, persistence.ErrAborted)
	require.Equal(t, "42P01", persistence.SQLState(err))
}
