package mapping

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/usecase"
)

type (
	Plain struct{ N int }
	Both  struct {
		Work func(context.Context, bothDeps) error
	}
	bothDeps struct {
		Ordered events.Emitter[Ordered]
		Plain   events.Emitter[Plain]
	}
)

// counted are the statements that name an event's tables, in short.
func counted(proxy *pgproxy.Proxy) (short []string) {
	for _, s := range proxy.Statements() {
		verb := strings.Fields(s)[0]
		for _, table := range []string{`"@event:Plain"`, `"@event:Ordered"`, `"@event:Ordered.Lines"`, `"@event:Ordered.Lines.Tags"`, `"@event:Ordered.Lines.At"`, `"@event:Ordered.Codes"`, `"@event:Ordered.Grid"`, `"@event:Ordered.Grid[]"`} {
			if strings.Contains(s, table) {
				short = append(short, verb+" "+strings.Trim(table, `"`))
			}
		}
		if verb == "BEGIN" || verb == "COMMIT" {
			short = append(short, verb)
		}
	}
	return short
}

// An event without elements costs what it did before there were lists; with some,
// a statement for each table that gets rows. A batch of deliveries reads each
// table once.
func TestStatementsAreFewAndKnown(t *testing.T) {
	t.Parallel()
	const n = 20
	var delivered sync.WaitGroup
	delivered.Add(n)
	module := kernel.Module("test",
		usecase.DeclareAction("test.shop.Both", func(ctx context.Context, self access.Self[Both, bothDeps]) error {
			return self.Input.Work(ctx, self.Deps)
		}),
		events.Declare[Ordered]("test.shop.Ordered", events.Recorded()), events.Declare[Plain]("test.shop.Plain", events.Recorded()),
		persistence.Enum(map[Mode]string{Cheap: "cheap", Dear: "dear"}), persistence.Codec(Price.row, newPrice),
	)
	take := events.Deferred("test.shop.Take", func(_ context.Context, self events.Self[Ordered, struct{}]) error {
		delivered.Done()
		return nil
	})
	ddl, err := kernel.DDL(module, take)
	require.NoError(t, err)
	url := pgtest.Database(t, ddl...)
	start := func(url string, opts ...fx.Option) (usecase.Action[Both], func()) {
		db := sqlx.MustOpen("postgres", url)
		var both usecase.Action[Both]
		app := fx.New(append(opts, kernel.Options(kernel.Database(db)), module, take, fx.Populate(&both), fx.NopLogger)...)
		require.NoError(t, app.Err())
		require.NoError(t, app.Start(t.Context()))
		return both, func() {
			require.NoError(t, app.Stop(context.Background()))
			require.NoError(t, db.Close())
		}
	}

	proxy := pgproxy.Start(t, url)
	both, stop := start(proxy.URL(), kernel.PublishOnly())
	for name, tt := range map[string]struct {
		work func(context.Context, bothDeps) error
		want []string
	}{
		"plain": {func(ctx context.Context, d bothDeps) error { return d.Plain.Emit(ctx, Plain{1}) }, []string{"BEGIN", "WITH @event:Plain", "COMMIT"}},
		"no elements": {func(ctx context.Context, d bothDeps) error {
			return d.Ordered.Emit(ctx, Ordered{Lines: []Line{}, Grid: nil})
		}, []string{"BEGIN", "WITH @event:Ordered", "COMMIT"}},
		"some": {func(ctx context.Context, d bothDeps) error {
			return d.Ordered.Emit(ctx, Ordered{Lines: []Line{{Tags: []string{"a", "b"}}, {Tags: []string{"c"}}}})
		}, []string{"BEGIN", "WITH @event:Ordered", "INSERT @event:Ordered.Lines", "INSERT @event:Ordered.Lines.Tags", "COMMIT"}},
	} {
		proxy.Forget()
		require.NoError(t, both.Execute(t.Context(), Both{tt.work}))
		require.Equal(t, tt.want, counted(proxy), name)
	}
	require.NoError(t, both.Execute(t.Context(), Both{func(ctx context.Context, d bothDeps) error {
		for range n - 2 { // and the two above
			if err := d.Ordered.Emit(ctx, Ordered{Lines: []Line{{Price: Price{decimal.New(1, 3)}, Tags: []string{"t"}}}, Grid: [][]float32{{}}}); err != nil {
				return err
			}
		}
		return nil
	}}))
	stop()

	_, stop = start(proxy.URL(), kernel.Delivery(func(c *delivery.Config) { c.Workers = n }))
	delivered.Wait()
	stop()
	reads := map[string]int{}
	for _, s := range counted(proxy) {
		if strings.HasPrefix(s, "SELECT") {
			reads[s]++
		}
	}
	require.Equal(t, map[string]int{"SELECT @event:Ordered": 1, "SELECT @event:Ordered.Lines": 1, "SELECT @event:Ordered.Lines.Tags": 1, "SELECT @event:Ordered.Grid": 1},
		reads, "one query for each table that has rows")
}
