//go:build unix

package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// These are kinds of failure that were reported publicly of systems like this
// one. Others of them stand in integration/delivery; docs/reliability.md lists
// all.

// gate is a listener that says when it runs and waits for its word.
type gate struct {
	running chan int64
	open    map[string]chan struct{} // by order
}

func newGate(orders ...string) *gate {
	g := &gate{running: make(chan int64, 100), open: map[string]chan struct{}{}}
	for _, o := range orders {
		g.open[o] = make(chan struct{})
	}
	return g
}

func (g *gate) run(ctx context.Context, self lab.Self) error {
	open, gated := g.open[self.Event.Do]
	if err := lab.Effect(ctx, self); err != nil || !gated {
		return err
	}
	g.running <- self.Event.Seq
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func sent(p *pgproxy.Proxy, statement string) (n int) {
	for _, text := range p.Statements() {
		if name(text) == statement {
			n++
		}
	}
	return n
}

// Reported: a rescuer overwrote a job that finished between its scan and its
// update. Here the lease of a running job has expired, since it was not renewed
// while the job waited for its worker; others look for lost jobs meanwhile.
func TestRecoveryLeavesARunningJobAloneWhoseLeaseExpired(t *testing.T) {
	t.Parallel()
	g := newGate("hold", "long")
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A", TimeLimit: 20 * time.Second, Run: g.run}},
		Delivery:  delivery.Config{Workers: 1, Lease: 21 * time.Second, Margin: time.Second},
	}
	base := lab.NewBase(t, plan)
	way := pgproxy.Start(t, base.URL)
	way.Add(pgproxy.Rule{Match: func(s pgproxy.Statement) bool { return name(s.Text) == "renew" }, Times: 1 << 30})
	node := lab.Start(t, way.URL(), plan)
	node.Put(t, 1, "hold", "long")
	require.Equal(t, int64(1), <-g.running)
	view := pgproxy.Start(t, base.URL)
	lab.Start(t, view.URL(), plan)
	claimed := `SELECT state = 'CLAIMED' AND lease_expires_at < now() + $1::interval FROM tidings.delivery WHERE event_id = ` + victim
	base.Await(claimed, "8 s") // the job in front is within its limit all the same
	close(g.open["hold"])
	require.Equal(t, int64(2), <-g.running)
	base.Await(claimed, "0 s") // as others see it
	before := sent(view, "recover")
	require.Eventually(t, func() bool { return sent(view, "recover") > before+3 }, lab.Deadline, 10*time.Millisecond)
	close(g.open["long"])
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED' AND attempts = 1`), base.Describe())
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history`), base.Describe())
}

// Reported: a killed maintenance run was never taken over.
func TestAMaintainerKilledInsideAStepIsReplaced(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"recover", "promote", "lock"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			plan := lab.Plan{
				Listeners: []lab.Listener{{Name: "A", TimeLimit: time.Second, First: 10 * time.Millisecond}},
				Delivery:  delivery.Config{Workers: 2, Lease: 1500 * time.Millisecond, Margin: 500 * time.Millisecond},
			}
			base := lab.NewBase(t, plan)
			pub := plan
			pub.PublishOnly = true
			publisher := lab.Start(t, base.URL, pub)
			dead := lab.StartChild(t, base.URL, plan)
			publisher.Put(t, 1, "block", "", "fail 1")
			dead.Expect(1, "blocked A 1")
			dead.Kill()
			way := pgproxy.Start(t, base.URL)
			held := way.Add(pgproxy.Rule{
				Match: func(s pgproxy.Statement) bool { return name(s.Text) == step },
				Point: pgproxy.BeforeAnswering, Hold: make(chan struct{}),
			})
			maintainer := lab.StartChild(t, way.URL(), plan)
			select {
			case <-held:
			case <-time.After(lab.Deadline):
				t.Fatal("the maintainer did not come to the step")
			}
			maintainer.Kill()
			tame := plan
			tame.Tame = true
			lab.Start(t, base.URL, tame)
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Equal(t, 3, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED'`), base.Describe())
		})
	}
}

// Reported: the leader discarded jobs of kinds that it did not know.
func TestWhoRecoversAJobNeedNotKnowItsListener(t *testing.T) {
	t.Parallel()
	old := lab.Plan{
		Listeners: []lab.Listener{{Name: "A"}},
		Delivery:  delivery.Config{Workers: 2, Lease: 1500 * time.Millisecond, Margin: 500 * time.Millisecond},
	}
	old.Listeners[0].TimeLimit = time.Second
	both := old
	both.Listeners = append(both.Listeners[:1:1], lab.Listener{Name: "B", TimeLimit: time.Second, MaxAttempts: 1})
	base := lab.NewBase(t, both)
	pub := both
	pub.PublishOnly = true
	publisher := lab.Start(t, base.URL, pub)
	dead := lab.StartChild(t, base.URL, both)
	publisher.Put(t, 1, "B: block", "", "")
	dead.Expect(1, "blocked B 1")
	dead.Kill()
	way := pgproxy.Start(t, base.URL)
	lab.Start(t, way.URL(), old)
	base.Await(`SELECT count(*) FILTER (WHERE listener = 'lab.delivery.A' AND state = 'COMPLETED') = 3
		AND count(*) FILTER (WHERE listener = 'lab.delivery.B' AND state = 'BLOCKED' AND stored_state = 'READY') >= 1
		AND count(*) FILTER (WHERE stored_state = 'CLAIMED') = 0 FROM tidings.jobs`)
	before := sent(way, "forget nodes")
	require.Eventually(t, func() bool { return sent(way, "forget nodes") > before+3 }, lab.Deadline, 10*time.Millisecond)
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.jobs WHERE stored_state IN ('FAILED', 'CANCELLED')`), base.Describe())
	tame := both
	tame.Tame = true
	lab.Start(t, base.URL, tame)
	base.AwaitSettled()
	base.Judge(both.Spec())
	require.Equal(t, 6, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED' AND attempts = 1`), base.Describe())
}

// Reported: a retry of a day-old job was judged stale by its first date; and
// past-due jobs ran twice. Here hundreds of them, a day old, are due at once for
// three nodes.
func TestRetriesThatAreDueSinceYesterdayRunOnce(t *testing.T) {
	t.Parallel()
	const jobs = 300
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A", First: time.Hour}}, Delivery: delivery.Config{Maintenance: 250 * time.Millisecond}}
	base := lab.NewBase(t, plan)
	failing := plan
	failing.Listeners = []lab.Listener{{Name: "A", First: time.Hour, Run: func(context.Context, lab.Self) error { return errors.New("not yet") }}}
	node := lab.Start(t, base.URL, failing)
	node.PutMany(t, 1, jobs)
	base.Await(`SELECT count(*) = $1 FROM tidings.delivery WHERE state = 'WAITING'`, jobs)
	require.NoError(t, node.Stop())
	base.Exec(`UPDATE tidings.delivery SET created_at = created_at - interval '1 day', due_at = now() - interval '1 day',
		first_attempt_at = first_attempt_at - interval '1 day', last_attempt_at = last_attempt_at - interval '1 day'`)
	lab.StartChild(t, base.URL, plan)
	lab.StartChild(t, base.URL, plan)
	lab.Start(t, base.URL, plan)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, jobs, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED' AND attempts = 2`), base.Describe())
	require.Equal(t, jobs, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE NOT late`))
}

// Reported: a failure whose text could not be stored looped for ever. Here the
// database's encoding cannot hold it.
func TestAFailureThatTheDatabasesEncodingCannotHoldIsRecorded(t *testing.T) {
	t.Parallel()
	base := latin1(t)
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A", MaxAttempts: 2, First: time.Millisecond, Run: func(context.Context, lab.Self) error {
		return errors.New("Überweisung → 金額 \x00 \xff refused")
	}}}}
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "", "")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED' AND reason = 'LISTENER' AND attempts = 2
		AND last_error LIKE '%refused%'`), base.Describe())
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind <> 'FAILURE'`))
}

// latin1 makes a database of the lab whose encoding is not UTF-8.
func latin1(t *testing.T) *lab.Base {
	t.Helper()
	server := pgtest.Server(t)
	admin := lab.Attach(t, server.URL("postgres"))
	admin.Exec(`CREATE DATABASE latin1 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
	t.Cleanup(func() {
		_, err := admin.DB.Exec(`DROP DATABASE latin1 WITH (FORCE)`)
		require.NoError(t, err)
	})
	base := lab.Attach(t, server.URL("latin1"))
	base.Exec(lab.DDL(t, lab.Plan{Listeners: []lab.Listener{{Name: "A"}}}))
	return base
}

// Reported: two stops at once hung; and a shutdown marked a running job as
// failed. The listener goes on until the grace period is over.
func TestStopsAtOnceEndAndFailNoJob(t *testing.T) {
	t.Parallel()
	g := newGate("hold")
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A", Run: g.run}},
		Delivery:  delivery.Config{Workers: 2, Grace: 300 * time.Millisecond},
	}
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "hold", "", "", "")
	<-g.running
	const stops = 4
	ended := make(chan error, stops)
	for range stops {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), lab.Deadline)
			defer cancel()
			ended <- node.App.Stop(ctx)
		}()
	}
	for range stops {
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(lab.Deadline):
			t.Fatal("a stop hangs")
		}
	}
	base.Await(`SELECT count(*) = 0 FROM tidings.node`)
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state NOT IN ('READY', 'COMPLETED') OR state = 'READY' AND attempts > 0`), base.Describe())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'HAND_BACK'`))
	close(g.open["hold"])
	lab.Start(t, base.URL, plan)
	base.AwaitSettled()
	base.Judge(plan.Spec())
}

// A process that is asked to end while a listener runs (SIGTERM, twice) hands
// back and fails nothing.
func TestASignalToStopFailsNoJob(t *testing.T) {
	t.Parallel()
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A"}},
		Delivery:  delivery.Config{Workers: 2, Grace: 200 * time.Millisecond},
	}
	base := lab.NewBase(t, plan)
	child := lab.StartChild(t, base.URL, plan)
	lab.Tell(child, 1, "block", "", "")
	child.Expect(1, "blocked A 1")
	child.Terminate()
	child.Terminate()
	require.Equal(t, "exit status 0", child.Wait())
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state NOT IN ('READY', 'COMPLETED')`), base.Describe())
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind <> 'HAND_BACK'`), base.Describe())
	tame := plan
	tame.Tame = true
	lab.Start(t, base.URL, tame)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.False(t, strings.Contains(base.Describe(), "FAILURE"))
}
