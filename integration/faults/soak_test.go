//go:build unix

package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/faults/app"
)

// soakPlan is what the workers under fire run. Only Doomed's jobs may fail for
// good: the others have attempts to spare.
func soakPlan() lab.Plan {
	patient := lab.Listener{MaxAttempts: 100, First: 10 * time.Millisecond, Longer: time.Second, TimeLimit: 2 * time.Second}
	named := func(name string) lab.Listener {
		l := patient
		l.Name = name
		return l
	}
	fast, doomed := named("Fast"), named("Doomed")
	fast.Group = 3
	doomed.MaxAttempts = 3
	return app.Plan(lab.Plan{
		Listeners: []lab.Listener{fast, named("Slow"), named("Flaky"), doomed},
		Delivery: delivery.Config{
			Workers: 4, Lease: 3 * time.Second, Margin: 500 * time.Millisecond, MaxLeaseLosses: 100,
			Grace: 2 * time.Second, Poll: 100 * time.Millisecond, Maintenance: 250 * time.Millisecond,
		},
	})
}

// Random processes are killed under continuous publishing, and restarted.
// Whatever the moment: every event that a publisher was told of is there, every
// job has one outcome, and every completed one its effect, once.
func TestKillingProcessesAtRandomLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, lab.NewBase(t, soakPlan()), soakPlan(), dice(t))
	f.start(4, 2)
	started := time.Now()
	for n := range *kills {
		if n > 0 && n%100 == 0 {
			tell(t, "%d kills after %v", n, time.Since(started).Round(time.Second))
		}
		if f.dice.IntN(5) == 0 {
			p := f.dice.IntN(len(f.publishers))
			f.publishers[p].Expect(1+f.dice.IntN(10), "ok")
			f.kill(f.publishers[p])
			f.publish(p)
			continue
		}
		w := f.dice.IntN(len(f.workers))
		f.workers[w].Expect(1, "up")
		f.workers[w].Expect(f.dice.IntN(40), "start")
		f.kill(f.workers[w])
		f.work(w)
	}
	killing := time.Since(started)
	f.rest()
	require.NotZero(t, f.base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED' AND listener = $1`, app.Keep))
	f.report("%d kills in %v, at rest after %v", *kills, killing.Round(time.Second), time.Since(started).Round(time.Second))
}
