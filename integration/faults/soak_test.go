//go:build unix

package faults_test

import (
	"fmt"
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
	doomed := named("Doomed")
	doomed.MaxAttempts = 3
	return app.Plan(lab.Plan{
		Listeners: []lab.Listener{named("Fast"), named("Slow"), named("Flaky"), doomed},
		Delivery: delivery.Config{
			Workers: 4, Lease: 3 * time.Second, Margin: 500 * time.Millisecond, MaxLeaseLosses: 100,
			Grace: 2 * time.Second,
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
	for range *kills {
		if f.dice.IntN(5) == 0 {
			p := f.dice.IntN(len(f.publishers))
			f.publishers[p].Expect(1+f.dice.IntN(10), "ok")
			f.publishers[p].Kill()
			f.publish(p)
			continue
		}
		w := f.dice.IntN(len(f.workers))
		f.workers[w].Expect(1, "up")
		f.workers[w].Expect(f.dice.IntN(40), "start")
		f.workers[w].Kill()
		f.work(w)
	}
	killing := time.Since(started)
	f.rest()
	require.NotZero(t, f.base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED' AND listener = $1`, app.Keep))
	t.Logf("%d kills in %v, at rest after %v: %s", *kills, killing.Round(time.Second), time.Since(started).Round(time.Second), f.figures())
}

// figures tells what the run was.
func (f *fleet) figures() string {
	b := f.base
	return fmt.Sprintf("%d events in %d transactions told (%d unknown), %d jobs, %d effects, %d retries, %d leases lost, %d jobs that were suspects, %d late failures, %d FAILED",
		b.Int(`SELECT count(*) FROM publication`), f.told["ok"]+f.told["no"]+f.told["unknown"], f.told["unknown"],
		b.Int(`SELECT count(*) FROM tidings.delivery`), b.Int(`SELECT count(*) FROM effect`),
		b.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'FAILURE'`),
		b.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST'`),
		b.Int(`SELECT count(DISTINCT delivery_id) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST'`),
		b.Int(`SELECT count(*) FROM tidings.delivery_history WHERE late`),
		b.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'FAILED'`))
}
