package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence/pgserver"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

// nodes is where a node stands while its delivery runs: it registers as delivery
// starts and deregisters as it stops.
const nodes = `tidings.node`

// probe is an app's component whose hooks look whether delivery runs.
type probe struct {
	t    *testing.T
	db   *sqlx.DB
	seen []string
}

func (p *probe) hook(name string) fx.Hook {
	look := func(when string) func(context.Context) error {
		return func(context.Context) error {
			p.seen = append(p.seen, fmt.Sprintf("%s %s: %d", when, name, count(p.t, p.db, nodes)))
			return nil
		}
	}
	return fx.Hook{OnStart: look("start"), OnStop: look("stop")}
}

func TestDeliveryStartsAfterAllHooksOfTheAppAndStopsBeforeThem(t *testing.T) {
	t.Parallel()
	type component struct{}
	for name, arrange := range map[string]func(k, app fx.Option) []fx.Option{
		"kernel first":      func(k, app fx.Option) []fx.Option { return []fx.Option{k, app} },
		"kernel last":       func(k, app fx.Option) []fx.Option { return []fx.Option{app, k} },
		"kernel in options": func(k, app fx.Option) []fx.Option { return []fx.Option{fx.Options(app, fx.Options(k))} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			delivered := make(chan string, 10)
			db := database(t, desk("test.hooks", delivered))
			p := &probe{t: t, db: db}
			mine := fx.Options(
				fx.Invoke(func(lc fx.Lifecycle) { lc.Append(p.hook("early")) }),
				fx.Module("app", fx.Provide(func(lc fx.Lifecycle) component {
					lc.Append(p.hook("constructor"))
					return component{}
				}), fx.Invoke(func(lc fx.Lifecycle, _ component) { lc.Append(p.hook("module")) })),
				desk("test.hooks", delivered),
				fx.Invoke(func(lc fx.Lifecycle) { lc.Append(fx.StartStopHook(func() {}, func() {})) }),
				fx.Invoke(func(lc fx.Lifecycle) { lc.Append(p.hook("late")) }),
			)
			a := newApp(t, arrange(kernel.Options(kernel.Database(db), quick()), mine)...)
			a.start()
			require.Equal(t, 1, count(t, db, nodes))
			a.emit("one")
			require.Equal(t, "one", <-delivered)
			a.stop()
			require.Len(t, p.seen, 8)
			for _, s := range p.seen {
				require.Contains(t, s, ": 0", "delivery ran meanwhile: %v", p.seen)
			}
		})
	}
}

func TestAKernelThatWouldNotSeeTheAppsHooksIsRefused(t *testing.T) {
	t.Parallel()
	k := fx.Module("infrastructure", kernel.Options(kernel.Database(nowhere(t))))
	for _, opts := range [][]fx.Option{{k, desk("test.module", nil)}, {desk("test.module", nil), k}} {
		err := fx.New(append(opts, fx.NopLogger)...).Err()
		require.ErrorContains(t, err, "kernel.Options stands inside an fx.Module")
	}
}

func TestStopsAndStartsMayComeInAnyNumber(t *testing.T) {
	t.Parallel()
	delivered := make(chan string, 10)
	db := database(t, desk("test.often", delivered))
	a := newApp(t, kernel.Options(kernel.Database(db), quick()), desk("test.often", delivered))
	require.ErrorIs(t, a.file.Execute(t.Context(), File{}), access.ErrNotRunning)
	a.stop() // before the start
	for i := range 3 {
		a.start()
		a.emit(fmt.Sprint(i))
		require.Equal(t, fmt.Sprint(i), <-delivered)
		a.stop()
		a.stop()
		require.ErrorIs(t, a.file.Execute(t.Context(), File{}), access.ErrNotRunning)
		require.Zero(t, count(t, db, nodes))
	}
}

func TestAStartWithoutADatabaseFailsAndALaterOneWorks(t *testing.T) {
	t.Parallel()
	server, err := pgserver.Start(t.Context(), pgserver.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	delivered := make(chan string, 10)
	db := pool(t, server.URL("postgres"))
	ddl, err := kernel.DDL(desk("test.down", delivered))
	require.NoError(t, err)
	for _, statement := range ddl {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	hooks := 0
	a := newApp(t, kernel.Options(kernel.Database(db), quick()), desk("test.down", delivered), fx.Invoke(func(lc fx.Lifecycle) {
		lc.Append(fx.StartStopHook(func() { hooks++ }, func() { hooks-- }))
	}))
	for range 2 {
		require.NoError(t, server.Shutdown(t.Context()))
		err := a.Start(t.Context())
		require.ErrorContains(t, err, "database not reached")
		require.Zero(t, hooks, "the app's hooks come after the kernel's")
		require.ErrorIs(t, a.file.Execute(t.Context(), File{}), access.ErrNotRunning)
		a.stop()
		require.NoError(t, server.Restart(t.Context()))
		a.start()
		require.Equal(t, 1, hooks)
		a.emit("up again")
		require.Equal(t, "up again", <-delivered)
		a.stop()
		require.Zero(t, hooks)
	}
}

func TestAHookOfTheAppThatFailsStopsWhatTheKernelHasStarted(t *testing.T) {
	t.Parallel()
	cause := errors.New("not yet")
	for _, first := range []bool{true, false} {
		delivered := make(chan string, 10)
		db := database(t, desk("test.hook", delivered))
		result := cause
		failing := fx.Invoke(func(lc fx.Lifecycle) {
			lc.Append(fx.StartHook(func() error { return result }))
		})
		opts := []fx.Option{kernel.Options(kernel.Database(db), quick()), desk("test.hook", delivered), failing}
		if first {
			opts = []fx.Option{failing, opts[1], opts[0]}
		}
		a := newApp(t, opts...)
		require.ErrorIs(t, a.Start(t.Context()), cause)
		require.Zero(t, count(t, db, nodes), "nothing is delivered")
		require.ErrorIs(t, a.file.Execute(t.Context(), File{}), access.ErrNotRunning)
		result = nil
		a.start()
		a.emit("now")
		require.Equal(t, "now", <-delivered)
		a.stop()
	}
}

func TestAPoolThatIsTooSmallIsRefused(t *testing.T) {
	t.Parallel()
	delivered := make(chan string, 10)
	db := database(t, desk("test.small", delivered))
	db.SetMaxOpenConns(2)
	stopped := 0
	a := newApp(t, kernel.Options(kernel.Database(db), quick()), desk("test.small", delivered), fx.Invoke(func(lc fx.Lifecycle) {
		lc.Append(fx.StopHook(func() { stopped++ }))
	}))
	err := a.Start(t.Context())
	require.ErrorIs(t, err, delivery.ErrPool)
	require.ErrorContains(t, err, "2 connections, 2 workers need 3")
	require.Equal(t, 1, stopped, "the app's own hook, which had started, is stopped")
	require.Zero(t, count(t, db, nodes))
	require.Zero(t, db.Stats().InUse)
	db.SetMaxOpenConns(3)
	a.start()
	a.emit("fits")
	require.Equal(t, "fits", <-delivered)
	a.stop()
	db.SetMaxOpenConns(1)
	publisher := newApp(t, kernel.Options(kernel.Database(db), kernel.PublishOnly()), desk("test.small", delivered))
	publisher.start()
	publisher.emit("one connection is enough to publish")
	publisher.stop()
}

func TestAPublisherDeliversNothing(t *testing.T) {
	t.Parallel()
	delivered := make(chan string, 10)
	db := database(t, desk("test.publish", delivered))
	publisher := newApp(t, kernel.Options(kernel.Database(db), kernel.PublishOnly(), quick()), desk("test.publish", delivered))
	publisher.start()
	publisher.emit("stored")
	require.Zero(t, count(t, db, nodes))
	require.Equal(t, 1, count(t, db, `tidings.jobs WHERE state = 'BLOCKED'`), "no live node has the listener")
	node := newApp(t, kernel.Options(kernel.Database(db), quick()), desk("test.publish", delivered))
	node.start()
	require.Equal(t, "stored", <-delivered)
	publisher.emit("and by polling")
	require.Equal(t, "and by polling", <-delivered)
	node.stop()
	publisher.stop()
	require.Zero(t, count(t, db, `tidings.delivery WHERE state <> 'COMPLETED'`))
}

func TestTwoAppsShareADatabaseInSchemasOfTheirOwn(t *testing.T) {
	t.Parallel()
	one, two := make(chan string, 10), make(chan string, 10)
	const other = `other "app"`
	ddl1, err := kernel.DDL(desk("test.one", one))
	require.NoError(t, err)
	ddl2, err := kernel.DDL(desk("test.two", two), kernel.Schema(other))
	require.NoError(t, err)
	db := pool(t, pgtest.Database(t, append(ddl1, ddl2...)...))
	a := newApp(t, kernel.Options(kernel.Database(db), quick()), desk("test.one", one))
	b := newApp(t, kernel.Options(kernel.Database(db), quick(), kernel.Schema(other)), desk("test.two", two))
	a.start()
	b.start()
	for i := range 5 {
		a.emit(fmt.Sprint("one ", i))
		b.emit(fmt.Sprint("two ", i))
	}
	got := map[string]bool{}
	for range 5 {
		got[<-one], got[<-two] = true, true
	}
	require.Len(t, got, 10)
	a.stop()
	b.stop()
	require.Empty(t, one)
	require.Empty(t, two)
	for _, framework := range []string{"tidings", other} {
		require.Equal(t, 5, count(t, db, schema.Qualified(framework, "delivery")+` WHERE state = 'COMPLETED'`))
	}
}

func TestADatabaseWithoutTheTablesIsRefusedWithAList(t *testing.T) {
	t.Parallel()
	db := pool(t, pgtest.Database(t))
	a := newApp(t, kernel.Options(kernel.Database(db)), desk("test.empty", nil))
	err := a.Start(t.Context())
	require.ErrorIs(t, err, kernel.ErrSchema)
	for _, want := range []string{`table "tidings"."delivery" is missing`, `table "test.empty"."@event:Report" is missing`, "schema show"} {
		require.ErrorContains(t, err, want)
	}
	require.Zero(t, count(t, db, `pg_namespace WHERE nspname = 'tidings'`), "the kernel changes no database by itself")
}

func TestTheAppsPoolStaysTheApps(t *testing.T) {
	t.Parallel()
	delivered := make(chan string, 10)
	db := database(t, desk("test.pool", delivered))
	_, err := kernel.DDL(desk("test.pool", delivered), kernel.Database(db))
	require.NoError(t, err)
	require.NoError(t, db.Ping(), "DDL closed it")
	a := newApp(t, kernel.Options(kernel.Database(db), quick()), desk("test.pool", delivered))
	a.start()
	a.stop()
	require.NoError(t, db.Ping(), "the stop closed it")
	require.Zero(t, db.Stats().InUse)
	require.Error(t, assemble(t, kernel.Database(db)), "given twice")
}

func TestATestKitsAppRunsOnADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	delivered := make(chan string, 10)
	a, b := kerneltest.New(t, desk("test.kit", delivered)), kerneltest.New(t, desk("test.kit", delivered), kernel.Schema("kit"))
	require.Equal(t, "tidings", a.Schema())
	require.Equal(t, "kit", b.Schema())
	require.NotEqual(t, a.DB(), b.DB())
	require.Contains(t, failure(t, func(tb testing.TB) { kerneltest.Get[fmt.Stringer](kerneltest.New(tb)) }), "get fmt.Stringer")
	require.Contains(t, failure(t, func(tb testing.TB) { kerneltest.New(tb, kernel.DevSchema(`nonsense`)) }), "template database")
}

func TestATestKitsAppStopsBeforeItsDatabaseIsDropped(t *testing.T) {
	t.Parallel()
	log, atStop := &watched{}, -1
	t.Run("inner", func(t *testing.T) {
		var k *kerneltest.Kernel
		k = kerneltest.New(t, desk("test.kit", make(chan string, 1)), kernel.Logger(slog.New(slog.NewTextHandler(log, nil))),
			fx.Invoke(func(lc fx.Lifecycle) {
				lc.Append(fx.StopHook(func() error { return k.DB().Get(&atStop, `SELECT count(*) FROM `+nodes) }))
			}))
	})
	require.Zero(t, atStop, "the app's hook reached its database, with delivery stopped")
	require.NotContains(t, log.String(), "WARN")
}
