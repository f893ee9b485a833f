package observability_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/usecase"
)

type (
	none   = struct{}
	Placed struct{ N int }
	Place  struct {
		N    int
		Fail bool
	}
	placeDeps struct{ Placed events.Emitter[Placed] }
)

var errRemote = errors.New("the remote is down")

// shop has one usecase, one event, one synchronous listener and two deferred
// ones, of which the second calls remote.
func shop(remote func(n int) error) fx.Option {
	return kernel.Module("shop",
		events.Declare[Placed]("shop.Placed"),
		usecase.DeclareAction("shop.Place", func(ctx context.Context, self access.Self[Place, placeDeps]) error {
			if err := self.Deps.Placed.Emit(ctx, Placed{self.Input.N}); err != nil || self.Input.Fail {
				return errors.Join(err, errRemote)
			}
			return nil
		}, usecase.Validate(func(p Place) error {
			if p.N < 0 {
				return errRemote
			}
			return nil
		})),
		events.Sync("shop.Keep", func(context.Context, events.Self[Placed, none]) error { return nil }),
		events.Deferred("shop.Invoice", func(context.Context, events.Self[Placed, none]) error { return nil }),
		events.Deferred("shop.Mail", func(_ context.Context, self events.Self[Placed, none]) error {
			return remote(self.Event.N)
		}, events.MaxAttempts(2), events.Backoff(time.Hour, time.Hour)),
	)
}

func serve(t *testing.T, opts ...fx.Option) (*kerneltest.Kernel, string) {
	t.Helper()
	k := kerneltest.New(t, append(opts, kernel.AdminAddr("127.0.0.1:0"))...)
	return k, k.AdminURL()
}

func place(t *testing.T, k *kerneltest.Kernel, p Place) error {
	t.Helper()
	return kerneltest.Get[usecase.Action[Place]](k).Execute(t.Context(), p)
}

// listenerGauges are those that the database answers, by listener.
var listenerGauges = []string{
	"tidings_delivery_queue_age_seconds", "tidings_delivery_oldest_unfinished_seconds", "tidings_delivery_live_nodes",
}

func TestEveryDeclarationHasItsSeriesFromBootAtZero(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]fx.Option{nil, {kernel.PublishOnly()}} {
		_, admin := serve(t, append(opts, shop(nil))...)
		s := scrape(t, admin)
		for _, l := range []string{"shop.Invoice", "shop.Mail"} {
			require.Zero(t, s.value(t, "tidings_delivery_queue_age_seconds", "listener", l))
			require.Zero(t, s.value(t, "tidings_delivery_oldest_unfinished_seconds", "listener", l))
			for _, state := range []string{"READY", "WAITING", "CLAIMED", "FAILED", "BLOCKED"} {
				require.Zero(t, s.value(t, "tidings_delivery_jobs", "listener", l, "state", state))
			}
			for _, o := range []string{"completed", "retried", "failed", "fenced", "handed_back", "unknown", "ungrouped", "unrecorded"} {
				require.Zero(t, s.value(t, "tidings_delivery_attempts_total", "listener", l, "outcome", o))
			}
			require.Zero(t, s.value(t, "tidings_delivery_duration_seconds", "listener", l))
			require.Zero(t, s.value(t, "tidings_delivery_start_delay_seconds", "listener", l))
			require.Equal(t, float64(1-len(opts)), s.value(t, "tidings_delivery_live_nodes", "listener", l))
		}
		require.Zero(t, s.value(t, "tidings_sync_duration_seconds", "listener", "shop.Keep"))
		require.Zero(t, s.value(t, "tidings_events_emitted_total", "event", "shop.Placed"))
		require.Zero(t, s.value(t, "tidings_usecase_duration_seconds", "usecase", "shop.Place", "outcome", "ok"))
		require.Zero(t, s.value(t, "tidings_usecase_duration_seconds", "usecase", "shop.Place", "outcome", "error"))
		require.Zero(t, s.value(t, "tidings_delivery_fenced_total"))
		require.Zero(t, s.value(t, "tidings_delivery_lease_losses_total"))
		require.Zero(t, s.value(t, "tidings_delivery_workers", "state", "busy"))
		require.Equal(t, float64(8*(1-len(opts))), s.value(t, "tidings_delivery_workers", "state", "idle"))
		require.Equal(t, 1., s.value(t, "tidings_node_up"))
		require.Equal(t, 1., s.value(t, "tidings_build_info"))
		require.GreaterOrEqual(t, s.value(t, "tidings_database_oldest_snapshot_seconds"), 0.)
	}
}

func TestMetricsFollowTheRulesOfPrometheus(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, shop(func(int) error { return nil }))
	require.NoError(t, place(t, k, Place{N: 1}))
	k.Drain()
	_, text := get(t, admin+"/metrics")
	promtool(t, text, "check", "metrics")
}

func TestCountersTellWhatTheProcessDid(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, shop(func(n int) error {
		if n == 2 {
			return errRemote
		}
		return nil
	}))
	require.NoError(t, place(t, k, Place{N: 1}))
	require.NoError(t, place(t, k, Place{N: 2}))
	require.Error(t, place(t, k, Place{N: 3, Fail: true}))
	require.ErrorIs(t, place(t, k, Place{N: -1}), usecase.ErrInvalid)
	k.Drain()
	s := scrape(t, admin)
	attempts := func(listener, outcome string) float64 {
		return s.value(t, "tidings_delivery_attempts_total", "listener", listener, "outcome", outcome)
	}
	require.Equal(t, 2., attempts("shop.Invoice", "completed"))
	require.Equal(t, 1., attempts("shop.Mail", "completed"))
	require.Equal(t, 1., attempts("shop.Mail", "retried"))
	require.Equal(t, 1., attempts("shop.Mail", "failed"))
	require.Equal(t, 3., s.value(t, "tidings_delivery_duration_seconds", "listener", "shop.Mail"))
	require.Equal(t, 3., s.value(t, "tidings_delivery_start_delay_seconds", "listener", "shop.Mail"))
	require.Equal(t, 2., s.value(t, "tidings_events_emitted_total", "event", "shop.Placed"), "what was rolled back was not emitted")
	require.Equal(t, 3., s.value(t, "tidings_sync_duration_seconds", "listener", "shop.Keep"))
	outcome := func(o string) float64 {
		return s.value(t, "tidings_usecase_duration_seconds", "usecase", "shop.Place", "outcome", o)
	}
	require.Equal(t, 2., outcome("ok"))
	require.Equal(t, 1., outcome("error"))
	require.Equal(t, 1., outcome("invalid"))
	require.Equal(t, 1., s.value(t, "tidings_delivery_jobs", "listener", "shop.Mail", "state", "FAILED"))
	for name, family := range s {
		if !strings.HasPrefix(name, "tidings_") {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				require.Contains(t, []string{"listener", "outcome", "state", "event", "usecase", "version", "app", "app_version", "go_version"}, l.GetName())
			}
		}
	}
}

// TestGaugesAgreeOnEveryNodeAndAfterARestart: a process that never ran a listener
// shows what the one that does the work shows.
func TestGaugesAgreeOnEveryNodeAndAfterARestart(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, shop(func(int) error { return errRemote }), kernel.Module("more",
		events.Deferred("shop.Extra", func(context.Context, events.Self[Placed, none]) error { return nil }),
	))
	for n := range 3 {
		require.NoError(t, place(t, k, Place{N: n}))
	}
	waiting := []string{"listener", "shop.Mail", "state", "WAITING"}
	var s scraped
	require.Eventually(t, func() bool {
		s = scrape(t, admin)
		return s.value(t, "tidings_delivery_jobs", waiting...) == 3
	}, time.Minute, 50*time.Millisecond)
	_, other := serve(t, kernel.Database(k.DB()), kernel.PublishOnly(), shop(nil))
	o := scrape(t, other)
	require.Equal(t, 3., o.value(t, "tidings_delivery_jobs", waiting...))
	require.Zero(t, o.value(t, "tidings_delivery_queue_age_seconds", "listener", "shop.Mail"), "what waits for its retry is not due")
	for _, name := range listenerGauges {
		require.InDelta(t, s.value(t, name, "listener", "shop.Mail"), o.value(t, name, "listener", "shop.Mail"), 60)
	}
	require.Positive(t, o.value(t, "tidings_delivery_oldest_unfinished_seconds", "listener", "shop.Mail"))
	_, declared := o.find("tidings_delivery_jobs", "listener", "shop.Extra")
	require.False(t, declared, "a listener that is declared elsewhere and has no jobs here")
}

func TestJobsOfAListenerWithoutALiveNodeShowAsBlocked(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, kernel.PublishOnly(), shop(nil))
	require.NoError(t, place(t, k, Place{N: 1}))
	s := scrape(t, admin)
	for _, l := range []string{"shop.Mail", "shop.Invoice"} {
		require.Equal(t, 1., s.value(t, "tidings_delivery_jobs", "listener", l, "state", "BLOCKED"))
		require.Zero(t, s.value(t, "tidings_delivery_jobs", "listener", l, "state", "READY"))
		require.Zero(t, s.value(t, "tidings_delivery_live_nodes", "listener", l))
		require.Positive(t, s.value(t, "tidings_delivery_queue_age_seconds", "listener", l))
	}
	// Nobody declares shop.Mail here, but its job must not be overlooked.
	_, other := serve(t, kernel.Database(k.DB()), kernel.Module("rest", events.Declare[Placed]("shop.Placed", events.Recorded())))
	require.Equal(t, 1., scrape(t, other).value(t, "tidings_delivery_jobs", "listener", "shop.Mail", "state", "BLOCKED"))
}

func TestBusyWorkersAreCounted(t *testing.T) {
	t.Parallel()
	started, release := make(chan none), make(chan none)
	k, admin := serve(t, shop(func(int) error {
		started <- none{}
		<-release
		return nil
	}))
	require.NoError(t, place(t, k, Place{N: 1}))
	<-started
	require.Eventually(t, func() bool {
		s := scrape(t, admin)
		return s.value(t, "tidings_delivery_workers", "state", "busy") == 1 && s.value(t, "tidings_delivery_workers", "state", "idle") == 7
	}, time.Minute, 10*time.Millisecond)
	close(release)
	k.Drain()
}

func TestTheAppsOwnRegistryIsUsedFromTheContainer(t *testing.T) {
	t.Parallel()
	own := prometheus.NewRegistry()
	sold := prometheus.NewCounter(prometheus.CounterOpts{Name: "shop_sold_total", Help: "Sold."})
	own.MustRegister(sold)
	sold.Add(5)
	_, admin := serve(t, shop(nil), fx.Supply(own))
	s := scrape(t, admin)
	require.Equal(t, 5., s.value(t, "shop_sold_total"))
	require.Equal(t, 1., s.value(t, "tidings_node_up"))
	require.NotContains(t, s, "go_goroutines", "a registry of the app's own holds what the app registers")
}

// TestAScrapeWithoutADatabaseHasNoWrongGauges: no value is better than an old one.
func TestAScrapeWithoutADatabaseHasNoWrongGauges(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, kernel.PublishOnly(), shop(nil))
	require.NoError(t, place(t, k, Place{N: 1}))
	_, err := k.DB().Exec(`ALTER TABLE tidings.listener RENAME TO hidden`)
	require.NoError(t, err)
	s := scrape(t, admin)
	require.NotContains(t, s, "tidings_delivery_jobs")
	require.Zero(t, s.value(t, "tidings_node_up"))
	require.Equal(t, 1., s.value(t, "tidings_events_emitted_total", "event", "shop.Placed"), "counters are there")
	_, err = k.DB().Exec(`ALTER TABLE tidings.hidden RENAME TO listener`)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, ok := scrape(t, admin).find("tidings_delivery_jobs", "listener", "shop.Mail", "state", "BLOCKED")
		return ok
	}, time.Minute, 50*time.Millisecond)
}
