//go:build unix

package delivery_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

// gate is a listener that says when it runs and waits to be let on.
type gate struct {
	running chan int64
	open    chan struct{}
}

func newGate() *gate { return &gate{make(chan int64, 100), make(chan struct{})} }

func (g *gate) run(ctx context.Context, self lab.Self) error {
	if err := lab.Effect(ctx, self); err != nil || self.Event.Do != "gate" {
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

// stopping stops a node's app and returns how that ended.
func stopping(n *lab.Node, within time.Duration) <-chan error {
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		ended <- n.App.Stop(ctx)
	}()
	return ended
}

// Contract 15.
func TestAStopHandsBackWhatWasNotStartedAndLetsTheRunningEnd(t *testing.T) {
	t.Parallel()
	g := newGate()
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A", Run: g.run}},
		Delivery:  delivery.Config{Workers: 1},
	}
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "gate", "", "", "")
	<-g.running
	base.Await(`SELECT count(*) >= 2 FROM tidings.delivery WHERE state = 'CLAIMED'`)
	stopped := stopping(node, time.Minute)
	base.Await(`SELECT count(*) = 3 FROM tidings.delivery WHERE state = 'READY' AND attempts = 0 AND claim_token IS NULL
		AND NOT suspect AND lease_losses = 0 AND hand_backs = 0`)
	require.Empty(t, stopped, "the stop waits for the running listener")
	close(g.open)
	require.NoError(t, <-stopped)
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED' AND attempts = 1`))
	require.Equal(t, 3, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'BLOCKED' AND reason = 'no live node has the listener'`))
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.node`))
	require.Zero(t, node.Pool.Stats().InUse)
	require.NoError(t, <-stopping(node, time.Minute), "a second stop")

	require.NoError(t, node.App.Start(t.Context()), "a stopped app starts again")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 4, base.Int(`SELECT count(*) FROM tidings.delivery WHERE attempts = 1`))
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history`))
}

// What runs at the end of the grace period is cancelled, rolled back and handed
// back unspent, a bounded number of times.
func TestAStopCancelsWhatOutlastsTheGrace(t *testing.T) {
	t.Parallel()
	const bound = 2
	g := newGate()
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A", Run: g.run, First: time.Hour, Longer: time.Hour}},
		Delivery:  delivery.Config{Workers: 1, Grace: time.Millisecond, MaxHandBacks: bound},
	}
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "gate")
	for n := 1; n <= bound; n++ {
		<-g.running
		require.NoError(t, <-stopping(node, time.Minute))
		require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'READY' AND attempts = 0 AND hand_backs = $1`, n))
		require.Equal(t, n, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'HAND_BACK' AND attempt = 1 AND error LIKE '%stopping%'`))
		require.Zero(t, base.Int(`SELECT count(*) FROM effect`))
		require.NoError(t, node.App.Start(t.Context()))
	}
	<-g.running
	require.NoError(t, <-stopping(node, time.Minute))
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'WAITING' AND attempts = 1`), base.Describe())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'FAILURE' AND NOT late`))
}

// A listener that ignores its context makes the stop fail at its deadline; the
// node does not start again over it, and stops in the end.
func TestAStopThatCannotEndSaysSo(t *testing.T) {
	t.Parallel()
	running, release := make(chan struct{}), make(chan struct{})
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A", Run: func(ctx context.Context, self lab.Self) error {
			close(running)
			<-release
			return errors.New("late")
		}}},
		Delivery: delivery.Config{Workers: 1, Grace: time.Millisecond},
	}
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "")
	<-running
	require.ErrorContains(t, <-stopping(node, 100*time.Millisecond), "context deadline exceeded")
	require.Error(t, node.App.Start(t.Context()), "not over running listeners")
	close(release)
	base.Await(`SELECT count(*) = 0 FROM tidings.node`)
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'READY' AND attempts = 0 AND hand_backs = 1`), base.Describe())
}

// Without a database the leases do what the stop cannot.
func TestAStopWithoutDatabaseEnds(t *testing.T) {
	t.Parallel()
	g := newGate()
	plan := single()
	plan.Listeners[0].Run = g.run
	server, base := lab.NewServer(t, plan, pgserver.Config{})
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "gate", "", "")
	<-g.running
	base.Await(`SELECT count(*) >= 2 FROM tidings.delivery WHERE state = 'CLAIMED'`)
	require.NoError(t, server.Crash(t.Context()))
	stopped := stopping(node, time.Minute)
	close(g.open)
	<-stopped
	require.NoError(t, server.Restart(t.Context()))
	base.AwaitReached()
	lab.Start(t, base.URL, plan)
	base.AwaitSettled()
	base.Judge(plan.Spec())
}

// A stop interrupts a group: a job whose turn had not come is handed back as one
// that was never started, however often that happens.
func TestAStopSpendsNothingOfAGroupsUnstartedJobs(t *testing.T) {
	t.Parallel()
	g := newGate()
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A", Run: g.run, Group: 4, MaxAttempts: 1, First: time.Hour}},
		Delivery:  delivery.Config{Workers: 1, Grace: time.Millisecond, MaxHandBacks: 100},
	}
	base := lab.NewBase(t, plan)
	publisher(t, base, plan).Put(t, 1, "gate", "", "", "", "")
	node := lab.Start(t, base.URL, plan)
	for n := 1; n <= 3; n++ {
		<-g.running
		require.Greater(t, base.Int(`SELECT count(*) - (SELECT count(*) FROM (SELECT id FROM tidings.delivery FOR NO KEY UPDATE SKIP LOCKED) free)
			FROM tidings.delivery`), 1, "jobs run in a group")
		require.NoError(t, <-stopping(node, time.Minute))
		require.Equal(t, 5, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'READY' AND attempts = 0`), base.Describe())
		require.Equal(t, n, base.Int(`SELECT sum(hand_backs) FROM tidings.delivery`), base.Describe())
		require.NoError(t, node.App.Start(t.Context()))
	}
	<-g.running
	close(g.open)
	base.AwaitSettled()
	base.Judge(plan.Spec())
}

// A hand-back whose connection is lost gives back once, or leaves it to the
// lease.
func TestALostHandBackGivesBackOnce(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]pgproxy.Rule{
		"not sent":               {Match: pgproxy.Containing(handBackStatement...)},
		"not answered":           {Match: pgproxy.Containing(handBackStatement...), Point: pgproxy.BeforeAnswering},
		"COMMIT of, not sent":    {Match: pgproxy.CommitAfter(handBackStatement...)},
		"COMMIT of, no answer":   {Match: pgproxy.CommitAfter(handBackStatement...), Point: pgproxy.BeforeAnswering},
		"all of a stop, no more": {Match: pgproxy.Containing(""), Times: 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			plan := single()
			plan.Listeners[0].Run = g.run
			base := lab.NewBase(t, plan)
			proxy := pgproxy.Start(t, base.URL)
			node := lab.Start(t, proxy.URL(), plan)
			node.Put(t, 1, "gate", "", "", "")
			<-g.running
			base.Await(`SELECT count(*) >= 2 FROM tidings.delivery WHERE state = 'CLAIMED'`)
			reached := proxy.Add(rule)
			stopped := stopping(node, time.Minute)
			await(t, reached, proxy)
			close(g.open)
			<-stopped
			lab.Start(t, base.URL, plan)
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery d JOIN "lab.delivery"."@event:Task" e ON e.id = event_id
				WHERE attempts <> 1 AND "Do" = ''`), base.Describe())
		})
	}
}
