//go:build unix

package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/integration/faults/app"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

// Latency, little bandwidth and cuts, in turn, between processes and server.
func TestABadNetworkLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	base := lab.NewBase(t, soakPlan())
	proxy := pgproxy.Start(t, base.URL)
	f := newFleet(t, base, soakPlan(), dice(t), proxy.URL(), base.URL)
	f.start(3, 2)
	for range *crashes {
		proxy.Slow(time.Duration(f.dice.IntN(10))*time.Millisecond, 0)
		f.progress(20 + f.dice.IntN(50))
		proxy.Slow(0, 20_000+f.dice.IntN(1_000_000))
		f.progress(20 + f.dice.IntN(50))
		proxy.Slow(0, 0)
		proxy.Cut()
		f.progress(20 + f.dice.IntN(50))
	}
	f.rest()
	f.report("%d rounds", *crashes)
}

// The network swallows everything, without a word, while a listener runs: between
// its statements, and inside one. The server ends what it cannot hear from, and
// another node does the job.
func TestABlackHoleInsideAListenerIsLeftByItsLimit(t *testing.T) {
	t.Parallel()
	const limit, margin = 2 * time.Second, time.Second
	for _, order := range []string{"block", "slow 600000"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			plan := lab.Plan{
				Listeners: []lab.Listener{{Name: "A", TimeLimit: limit, First: 10 * time.Millisecond}},
				Delivery:  delivery.Config{Workers: 2, Lease: limit + margin, Margin: margin},
			}
			server, base := lab.NewServer(t, plan, pgserver.Config{})
			way := pgproxy.Start(t, server.TCPURL("postgres"))
			gone := lab.StartChild(t, way.URL(), plan)
			pub := plan
			pub.PublishOnly = true
			publisher := lab.Start(t, base.URL, pub)
			publisher.Put(t, 1, order)
			gone.Expect(1, "start A 1 1")
			base.Await(`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL
				AND (state = 'idle in transaction' AND query LIKE 'INSERT INTO effect%' OR wait_event = 'PgSleep'))`)
			end := way.Swallow()
			tame := plan
			tame.Tame = true
			other := lab.StartChild(t, base.URL, tame)
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Equal(t, 1, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, other.PID()))
			// Within limit and margin, the wait of a suspect, and what a busy machine takes.
			require.Less(t, base.Int(`SELECT extract(epoch FROM e.at - d.first_attempt_at)::int FROM effect e JOIN tidings.delivery d USING (event_id)`),
				int((limit+margin)/time.Second)+30, base.Describe())
			other.Kill()
			end()
			publisher.Put(t, 2, "")
			gone.Expect(1, "start A 2")
			base.AwaitSettled()
			base.Judge(plan.Spec())
		})
	}
}

// Processes are stopped where they are and go on later, some when their jobs have
// long been given to others.
func TestPausingProcessesAtRandomLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	server, base := lab.NewServer(t, soakPlan(), pgserver.Config{})
	f := newFleet(t, base, soakPlan(), dice(t), server.URL("postgres"), server.TCPURL("postgres"))
	f.start(4, 2)
	replaced := 0
	for range *rounds {
		w := f.workers[f.dice.IntN(len(f.workers))]
		w.Expect(1+len(w.Lines("start"))+f.dice.IntN(10), "start")
		w.Pause()
		p := f.publishers[f.dice.IntN(len(f.publishers))]
		both := f.dice.IntN(2) == 0
		if both {
			p.Pause()
		}
		if f.dice.IntN(3) == 0 { // until others have all of its jobs
			base.Await(`SELECT NOT EXISTS (SELECT FROM tidings.delivery d JOIN tidings.node n ON n.id = d.claimed_by
				WHERE d.state = 'CLAIMED' AND n.name LIKE '%:' || $1::text)`, w.PID())
			replaced++
		} else {
			f.progress(f.dice.IntN(40))
		}
		if both {
			p.Resume()
		}
		w.Resume()
	}
	f.progress(1)
	f.rest()
	require.NotZero(t, base.Int(`SELECT count(*) FROM effect WHERE listener = $1`, app.Keep))
	f.report("%d pauses, %d of them until others had the jobs", *rounds, replaced)
}
