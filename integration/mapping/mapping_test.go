// Package mapping proves the value mapping with pgx, and events with lists, maps
// and value objects end to end.
package mapping

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/mapping/maptest"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/usecase"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Runner{M: m}) }

func TestMappingWithPgx(t *testing.T) {
	t.Parallel()
	maptest.Run(t, "pgx", func() string { return pgtest.Database(t) })
}

type (
	Mode  int
	Price struct{ amount decimal.Decimal }
	Line  struct {
		Note  *string
		Price Price
		Tags  []string
		At    map[time.Time]Mode
	}
	Ordered struct {
		Lines []Line
		Codes map[string]struct{}
		Grid  [][]float32
	}
	Order     struct{ Event Ordered }
	orderDeps struct{ Ordered events.Emitter[Ordered] }
)

// Cheap and Dear are not stored by their numbers.
const (
	Cheap Mode = iota
	Dear
)

func (p Price) row() decimal.Decimal { return p.amount }

func newPrice(amount decimal.Decimal) (Price, error) { return Price{amount}, nil }

func order(ctx context.Context, self access.Self[Order, orderDeps]) error {
	return self.Deps.Ordered.Emit(ctx, self.Input.Event)
}

func TestPgxDeliversListsMapsAndValueObjects(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]kernel.Option{"prepared": kernel.Listen("off"), "as behind PgBouncer": kernel.PgBouncer()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deliverOnce(t, option)
		})
	}
}

func deliverOnce(t *testing.T, option kernel.Option) {
	got := make(chan events.Self[Ordered, struct{}], 1)
	module := kernel.Module("test",
		usecase.DeclareAction("test.shop.Order", order),
		events.Declare[Ordered]("test.shop.Ordered"),
		events.Deferred("test.shop.Book", func(_ context.Context, self events.Self[Ordered, struct{}]) error {
			got <- self
			return nil
		}),
		persistence.Enum(map[Mode]string{Cheap: "cheap", Dear: "dear"}),
		persistence.Codec(Price.row, newPrice),
	)
	ddl, err := kernel.DDL(module)
	require.NoError(t, err)
	db := sqlx.MustOpen("pgx", pgtest.Database(t, ddl...))
	t.Cleanup(func() { _ = db.Close() })
	var action usecase.Action[Order]
	var history events.History[Ordered]
	app := fx.New(kernel.Options(kernel.Database(db), option), module, fx.Populate(&action, &history), fx.NopLogger)
	require.NoError(t, app.Err())
	require.NoError(t, app.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, app.Stop(context.Background())) })

	note := "quoted \"é\\"
	sent := Ordered{
		Lines: []Line{
			{Note: &note, Price: Price{decimal.New(150, -2)}, Tags: []string{"a", "NULL", ""}, At: map[time.Time]Mode{time.Unix(1, 999).UTC(): Dear}},
			{Tags: []string{}, At: map[time.Time]Mode{}},
		},
		Codes: map[string]struct{}{"x": {}, "{}": {}},
		Grid:  [][]float32{nil, {}, {0.1}},
	}
	require.NoError(t, action.Execute(t.Context(), Order{sent}))
	self := <-got
	require.Empty(t, maptest.Same(sent, self.Event))
	entry, err := history.Get(t.Context(), self.Meta.EventID)
	require.NoError(t, err)
	require.Empty(t, maptest.Same(sent, entry.Event))
	for _, by := range []events.Order{events.ByRecorded, events.ByOccurred} {
		page, err := history.List(t.Context(), events.Query{By: by, From: entry.RecordedAt.Add(-time.Hour), To: entry.RecordedAt.Add(time.Hour), Limit: 1})
		require.NoError(t, err)
		require.Len(t, page.Entries, 1)
		require.Empty(t, maptest.Same(sent, page.Entries[0].Event))
	}
	_, err = history.Get(t.Context(), uuid.New())
	require.ErrorIs(t, err, events.ErrNoEvent)
}
