//go:build unix

package nodes_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
)

// still is a plan of nodes that look for jobs when they are woken, and else once
// an hour.
func still() lab.Plan {
	return lab.Plan{
		Listeners: []lab.Listener{{Name: "A"}},
		Delivery:  delivery.Config{Workers: 2, Poll: time.Hour},
	}
}

// listening counts the sessions that have listened last.
const listening = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`

func TestOneEmitWakesItsOwnProcessAndTheOther(t *testing.T) {
	t.Parallel()
	plan := still()
	base := lab.NewBase(t, plan)
	plan.Listen = base.URL
	a, b := lab.StartChild(t, base.URL, plan), lab.StartChild(t, base.URL, plan)
	base.Await(`SELECT (` + listening + `) = 2`)
	orders := slices.Repeat([]string{"block"}, 12)
	lab.Tell(a, 1, orders...)
	a.Expect(2, "blocked") // all its workers
	b.Expect(2, "blocked")
	for i := range orders {
		a.Tell("go %d", i+1)
		b.Tell("go %d", i+1)
	}
	base.AwaitSettled()
	base.Judge(plan.Spec())
}

func TestAPublishOnlyProcessWakesAWorker(t *testing.T) {
	t.Parallel()
	plan := still()
	base := lab.NewBase(t, plan)
	plan.Listen = base.URL
	pub := publisher(t, base.URL, plan)
	lab.StartChild(t, base.URL, plan)
	base.Await(`SELECT (` + listening + `) = 1`)
	for n := range int64(5) { // each by a notification of its own
		pub.Put(t, n, "")
		base.AwaitSettled()
	}
	base.Judge(plan.Spec())
}

// The environment is the process's: this test does not run beside others.
func TestPollingAloneSuffices(t *testing.T) {
	for name, off := range map[string]func(*testing.T, *lab.Plan){
		"kernel.Listen(off)":     func(_ *testing.T, p *lab.Plan) { p.Listen = "off" },
		"TIDINGS_LISTEN_URL=off": func(t *testing.T, _ *lab.Plan) { t.Setenv("TIDINGS_LISTEN_URL", "off") },
	} {
		t.Run(name, func(t *testing.T) {
			plan := still()
			plan.Delivery.Poll = 50 * time.Millisecond
			base := lab.NewBase(t, plan)
			plan.Listen = base.URL
			off(t, &plan)
			pub := publisher(t, base.URL, plan)
			lab.Start(t, base.URL, plan)
			for n := range int64(3) {
				pub.Put(t, n, "")
				base.AwaitSettled()
			}
			require.Zero(t, base.Int(listening))
			base.Judge(plan.Spec())
		})
	}
}

// What is added while nobody listens is found when the node listens again.
func TestALostListeningConnectionCostsNoJob(t *testing.T) {
	t.Parallel()
	plan := still()
	base := lab.NewBase(t, plan)
	way, pubWay := pgproxy.Start(t, base.URL), pgproxy.Start(t, base.URL)
	pub := publisher(t, pubWay.URL(), plan)
	plan.Listen = way.URL()
	lab.Start(t, base.URL, plan)
	base.Await(`SELECT (` + listening + `) = 1`)
	pub.Put(t, 1, "")
	base.AwaitSettled()
	for n := range int64(3) {
		hold := make(chan struct{})
		again := way.Add(pgproxy.Rule{Match: pgproxy.Containing("LISTEN"), Point: pgproxy.BeforeSending, Hold: hold})
		done := make(chan struct{})
		close(done)
		told := pubWay.Add(pgproxy.Rule{Match: pgproxy.Containing(notifyStatement...), Point: pgproxy.BeforeAnswering, Hold: done})
		require.Equal(t, 1, base.Int(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN%'`))
		reach(t, again)
		pub.Put(t, 10+n, "")
		reach(t, told) // the server has executed NOTIFY: nobody heard it
		require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'READY' AND attempts = 0`))
		close(hold)
		base.AwaitSettled()
	}
	base.Judge(plan.Spec())
}

// A notification that never ends, and one that fails as in a full queue, are no
// matter of publishers. (A queue of a true server holds 8 GB.)
func TestWhateverBecomesOfNotificationsPublishersGoOn(t *testing.T) {
	t.Parallel()
	const jobs = 200
	for name, spoil := range map[string]func(*testing.T, *lab.Base, *pgproxy.Proxy){
		"never answered": func(t *testing.T, _ *lab.Base, way *pgproxy.Proxy) {
			way.Add(pgproxy.Rule{
				Match: pgproxy.Containing(notifyStatement...), Point: pgproxy.BeforeSending, Times: jobs, Hold: make(chan struct{}),
			})
		},
		"cut": func(t *testing.T, _ *lab.Base, way *pgproxy.Proxy) {
			way.Add(pgproxy.Rule{Match: pgproxy.Containing(notifyStatement...), Point: pgproxy.BeforeAnswering, Times: jobs})
		},
		"the queue is full": func(t *testing.T, base *lab.Base, _ *pgproxy.Proxy) {
			base.Exec(`CREATE FUNCTION public.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS $$
				BEGIN RAISE 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000'; END $$;
				DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$`)
		},
		"a listener sleeps in a transaction": func(t *testing.T, base *lab.Base, _ *pgproxy.Proxy) {
			conn, err := base.DB.Connx(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			for _, s := range []string{`LISTEN ` + channel(t, base), `BEGIN ISOLATION LEVEL REPEATABLE READ`, `SELECT 1`} {
				_, err := conn.ExecContext(t.Context(), s)
				require.NoError(t, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := still()
			plan.Delivery.Poll = 50 * time.Millisecond
			base := lab.NewBase(t, plan)
			way := pgproxy.Start(t, base.URL)
			spoil(t, base, way)
			pub := publisher(t, way.URL(), plan)
			lab.Start(t, base.URL, plan)
			for n := range int64(jobs) {
				pub.Put(t, n, "")
			}
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.NotZero(t, sent(way, notifyStatement))
			// Nor does it hold up the stop.
			require.NoError(t, pub.Stop())
		})
	}
}

// channel is the channel on which the kernel notifies.
func channel(t *testing.T, base *lab.Base) string {
	way := pgproxy.Start(t, base.URL)
	pub := publisher(t, way.URL(), still())
	pub.Put(t, 1000, "")
	await(t, "a notification", func() bool { return sent(way, notifyStatement) > 0 })
	for _, s := range way.Statements() {
		if _, rest, found := strings.Cut(s, "pg_notify('"); found {
			name, _, _ := strings.Cut(rest, "'")
			return name
		}
	}
	return ""
}

// Inside a publisher's transaction NOTIFY takes a global lock at its commit.
func TestNotificationsAreSentOutsideOfTransactions(t *testing.T) {
	t.Parallel()
	plan := still()
	base := lab.NewBase(t, plan)
	way := pgproxy.Start(t, base.URL)
	var mu sync.Mutex
	var inside []string
	way.Add(pgproxy.Rule{Match: func(s pgproxy.Statement) bool {
		mu.Lock()
		defer mu.Unlock()
		open := len(s.Before) > 0 && strings.HasPrefix(s.Before[0], "BEGIN") && !slices.ContainsFunc(s.Before, func(b string) bool {
			return strings.HasPrefix(b, "COMMIT") || strings.HasPrefix(b, "ROLLBACK")
		})
		if open && strings.Contains(strings.ToLower(s.Text), "notify") {
			inside = append(inside, strings.Join(s.Before, "; ")+"; "+s.Text)
		}
		return false
	}})
	pub := publisher(t, way.URL(), plan)
	plan.Listen = base.URL
	lab.Start(t, way.URL(), plan)
	base.Await(`SELECT (` + listening + `) = 1`)
	for n := range int64(20) {
		pub.Put(t, n, "")
	}
	base.AwaitSettled()
	require.NotZero(t, sent(way, notifyStatement))
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, inside)
}
