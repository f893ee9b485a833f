//go:build unix

package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
)

// Contract 6: what a listener hands on to the outside carries the same key at
// every attempt, in every process, and another for every event and listener.
func TestARepeatedExternalDeliveryCarriesTheSameKey(t *testing.T) {
	t.Parallel()
	plan := single()
	plan.Delivery.Workers = 4
	plan.Listeners = append(plan.Listeners, lab.Listener{Name: "B", First: 10 * time.Millisecond})
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	first := lab.StartChild(t, base.URL, plan)
	pub.Put(t, 1, "A: fail 1", "A: block")
	base.Await(`SELECT count(*) = 3 FROM tidings.delivery WHERE state = 'COMPLETED'`)
	first.Expect(1, "blocked A 2")
	first.Kill()
	second := lab.StartChild(t, base.URL, tame(plan))
	base.AwaitSettled()
	base.Judge(plan.Spec())
	keys, deliveries := map[string][]string{}, 0
	for _, line := range append(first.Lines("start"), second.Lines("start")...) {
		f := strings.Fields(line) // start LISTENER SEQ ATTEMPT KEY…
		task, key := f[1]+f[2], strings.Join(f[4:], " ")
		deliveries++
		for _, known := range keys[task] {
			require.Equal(t, known, key, task)
		}
		keys[task] = append(keys[task], key)
	}
	require.Equal(t, 6, deliveries)
	distinct := map[string]bool{}
	for _, k := range keys {
		distinct[k[0]] = true
	}
	require.Len(t, distinct, 4)
}

// A listener that ignores its time limit keeps its worker and not its job.
func TestAListenerThatIgnoresItsLimitLosesTheJobAlone(t *testing.T) {
	t.Parallel()
	plan := single()
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	deaf := lab.StartChild(t, base.URL, plan)
	pub.Put(t, 1, "deaf")
	deaf.Expect(1, "blocked A 1")
	other := lab.StartChild(t, base.URL, tame(plan))
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, other.PID()))
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.node n WHERE expires_at > now() AND id IN (
		SELECT node_id FROM tidings.delivery_history WHERE kind = 'LEASE_LOST')`), "the deaf one's process lives")
	deaf.Tell("go 1")
	base.Await(`SELECT count(*) = 1 FROM tidings.delivery_history WHERE kind = 'FAILURE' AND late`)
	other.Kill()
	pub.Put(t, 2, "")
	deaf.Expect(1, "start A 2")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Len(t, deaf.Lines("start"), 2)
}

// The outcome of a COMMIT that got no answer is what the database says: done, or
// to be repeated.
func TestAnUnknownCommitHasOneEffectAndOneOutcome(t *testing.T) {
	t.Parallel()
	for point, attempts := range map[pgproxy.Point]int{pgproxy.BeforeSending: 2, pgproxy.BeforeAnswering: 1} {
		plan := cuttable()
		base := lab.NewBase(t, plan)
		proxy := pgproxy.Start(t, base.URL)
		reached := proxy.Add(pgproxy.Rule{Match: pgproxy.CommitAfter(effectStatement...), Point: point})
		node := lab.Start(t, proxy.URL(), plan)
		node.Put(t, 1, "")
		await(t, reached, proxy)
		base.AwaitSettled()
		base.Await(`SELECT count(*) = 1 FROM tidings.delivery_history WHERE failure = 'UNKNOWN' AND late = ($1 = 1)`, attempts)
		base.Judge(plan.Spec())
		require.Equal(t, attempts, base.Int(`SELECT attempts FROM tidings.jobs WHERE state = 'COMPLETED'`))
	}
}

// Polling is not what makes delivery in one process prompt: with an hour between
// polls, commits, retries, recovered jobs and a registration that was stale for
// a while are all followed by delivery at once.
func TestAnHourBetweenPollsDelaysNothingInOneProcess(t *testing.T) {
	t.Parallel()
	plan := single()
	plan.Delivery.Workers = 2
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	killed := lab.StartChild(t, base.URL, plan)
	pub.Put(t, 1, "block", "block", "")
	killed.Expect(2, "blocked")
	killed.Kill()

	plan.Delivery.Poll = time.Hour
	plan.Delivery.Heartbeat = 200 * time.Millisecond
	proxy := pgproxy.Start(t, base.URL)
	node := lab.Start(t, proxy.URL(), tame(plan))
	node.Put(t, 10, "", "")
	base.Await(`SELECT count(*) >= 2 FROM tidings.delivery WHERE state = 'COMPLETED'`)
	base.AwaitSettled() // recovered

	proxy.Add(pgproxy.Rule{Match: pgproxy.Containing("INSERT INTO", "node AS n"), Times: 1 << 30})
	base.Await(`SELECT NOT EXISTS (SELECT FROM tidings.node WHERE expires_at > now())`)
	claims := len(claimsOf(proxy))
	node.Put(t, 20, "")
	require.Eventually(t, func() bool { return len(claimsOf(proxy)) > claims }, lab.Deadline, 10*time.Millisecond)
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'BLOCKED' AND attempts = 0`),
		"a node whose registration is stale claims nothing")
	proxy.Clear()
	base.AwaitSettled()
	base.Judge(plan.Spec())
}

func claimsOf(p *pgproxy.Proxy) (claims []string) {
	for _, s := range p.Statements() {
		if strings.Contains(s, claimStatement[0]) && strings.Contains(s, claimStatement[1]) {
			claims = append(claims, s)
		}
	}
	return claims
}

func TestRetriesAreDueWithAnHourBetweenPolls(t *testing.T) {
	t.Parallel()
	plan := cuttable()
	plan.Delivery.Poll, plan.Delivery.Maintenance = time.Hour, time.Hour
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "fail 3", "", "fail 1")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 7, base.Int(`SELECT sum(attempts) FROM tidings.delivery`))
}

// Contract 10.
func TestAJobWithoutALiveListenerIsBlockedUntilOneRuns(t *testing.T) {
	t.Parallel()
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A"}, {Name: "B"}}}
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	old := plan
	old.Listeners = plan.Listeners[:1]
	lab.Start(t, base.URL, old)
	pub.PutMany(t, 1, 50)
	base.Await(`SELECT count(*) = 50 FROM tidings.jobs WHERE state = 'COMPLETED' AND listener = 'lab.delivery.A'`)
	require.Equal(t, 50, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'BLOCKED' AND stored_state = 'READY'
		AND listener = 'lab.delivery.B' AND reason = 'no live node has the listener' AND attempts = 0 AND claimed_by IS NULL`))
	lab.Start(t, base.URL, plan)
	base.Await(`SELECT count(*) = 100 FROM tidings.jobs WHERE state = 'COMPLETED' AND attempts = 1`)
	base.Judge(plan.Spec())
}

// Contract 14 in a backlog: a job that is older than what was claimed and that
// another process makes ready does not wait for the end of the backlog.
func TestAJobThatAppearsBehindABacklogsBackIsNextSoon(t *testing.T) {
	t.Parallel()
	const backlog = 5000
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A"}}, Delivery: delivery.Config{Poll: time.Hour, Maintenance: time.Hour}}
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	for from := int64(0); from < backlog; from += 500 {
		pub.PutMany(t, from, 500)
	}
	base.Exec(`UPDATE tidings.delivery SET state = 'WAITING', due_at = 'infinity' WHERE id = 1`)
	lab.Start(t, base.URL, plan)
	base.Await(`SELECT count(*) > 200 FROM effect`)
	base.Exec(`UPDATE tidings.delivery SET state = 'READY', due_at = now() WHERE id = 1`)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Less(t, base.Int(`SELECT rank FROM (SELECT id, rank() OVER (ORDER BY completed_at) FROM tidings.delivery) d WHERE id = 1`), backlog*9/10)
}

// Contract 14: a slow listener leaves workers to another.
func TestASlowListenerStarvesNoOther(t *testing.T) {
	t.Parallel()
	g := newGate()
	plan := lab.Plan{Listeners: []lab.Listener{
		{Name: "Slow", Run: func(ctx context.Context, self lab.Self) error {
			if err := lab.Effect(ctx, self); err != nil {
				return err
			}
			select {
			case <-g.open:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}},
		{Name: "Quick"},
	}}
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	node.PutMany(t, 1, 300)
	base.Await(`SELECT count(*) = 300 FROM tidings.jobs WHERE listener = 'lab.delivery.Quick' AND state = 'COMPLETED'`)
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.jobs WHERE listener = 'lab.delivery.Slow' AND state = 'COMPLETED'`))
	close(g.open)
	base.AwaitSettled()
	base.Judge(plan.Spec())
}

// Contract 14: the oldest due job first.
func TestOneWorkerTakesTheOldestDueJobFirst(t *testing.T) {
	t.Parallel()
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A"}}, Delivery: delivery.Config{Workers: 1}}
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	for seq := range int64(120) {
		pub.Put(t, 1000-seq, "", "") // identities and numbers run against time
	}
	lab.Start(t, base.URL, plan)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Zero(t, base.Int(`SELECT count(*) FROM (
		SELECT created_at < lag(created_at) OVER (ORDER BY completed_at) AS back FROM tidings.delivery) x WHERE back`))
}

// Contract 8: leases that are lost before a start are bounded on their own.
func TestLeasesLostBeforeAStartAreBounded(t *testing.T) {
	t.Parallel()
	plan := cuttable()
	plan.Delivery.MaxLeaseLosses = 2
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	for n, statement := range [][]string{acknowledgeStatement, markStatement} {
		proxy := pgproxy.Start(t, base.URL)
		reached := proxy.Add(pgproxy.Rule{Match: pgproxy.Containing(statement...), Hold: make(chan struct{})})
		child := lab.StartChild(t, proxy.URL(), plan)
		if n == 0 {
			pub.Put(t, 1, "")
		}
		await(t, reached, proxy)
		child.Kill()
		proxy.Cut()
		lab.Start(t, base.URL, lab.Plan{Listeners: []lab.Listener{{Name: "Maintainer"}}, Delivery: plan.Delivery})
		base.Await(`SELECT count(*) = 1 FROM tidings.delivery WHERE lease_losses = $1 AND state <> 'CLAIMED'`, n+1)
	}
	base.Await(`SELECT count(*) = 1 FROM tidings.jobs WHERE state = 'FAILED' AND reason = 'LEASE' AND attempts = 0 AND lease_losses = 2`)
	spec := plan.Spec()
	base.Judge(spec)
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST'`), fmt.Sprint(base.Describe()))
}

// Suspects run one at a time on a node, and what is not suspect goes on beside.
func TestSuspectsRunSingly(t *testing.T) {
	t.Parallel()
	g := newGate()
	plan := cuttable()
	plan.Listeners[0].TimeLimit = 30 * time.Second
	plan.Delivery.Workers = 4
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	plan.Listeners[0].TimeLimit = time.Second
	killed := lab.StartChild(t, base.URL, plan)
	pub.Put(t, 1, "block", "block", "block")
	killed.Expect(3, "blocked")
	killed.Kill()
	plan.Listeners[0].TimeLimit = 30 * time.Second
	plan.Listeners[0].Run = func(ctx context.Context, self lab.Self) error {
		if err := lab.Effect(ctx, self); err != nil || self.Event.Do != "block" {
			return err
		}
		g.running <- self.Event.Seq
		select {
		case <-g.open:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	node := lab.Start(t, base.URL, plan)
	<-g.running
	base.Await(`SELECT count(*) = 2 FROM tidings.delivery WHERE suspect AND state = 'READY'`)
	node.PutMany(t, 10, 20)
	base.Await(`SELECT count(*) = 20 FROM tidings.delivery WHERE state = 'COMPLETED'`)
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM tidings.delivery WHERE suspect AND state = 'READY'`))
	require.Empty(t, g.running)
	close(g.open)
	base.AwaitSettled()
	base.Judge(plan.Spec())
}
