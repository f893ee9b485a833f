//go:build unix

package nodes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
)

// The one worker runs a listener for several times as long as the leases of the
// jobs behind it hold: they are renewed meanwhile.
func TestLeasesOfUnstartedJobsAreRenewedBesideARunningListener(t *testing.T) {
	t.Parallel()
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "Quick", TimeLimit: time.Second}, {Name: "Slow", TimeLimit: time.Minute}},
		Delivery:  delivery.Config{Workers: 1, Lease: 1500 * time.Millisecond, Margin: 500 * time.Millisecond},
	}
	base := lab.NewBase(t, plan)
	pub := publisher(t, base.URL, plan)
	holder := lab.StartChild(t, base.URL, plan)
	pub.Put(t, 1, "Slow: block")
	holder.Expect(1, "blocked Slow 1")
	pub.Put(t, 11, make([]string, 10)...)
	const held = `FROM tidings.jobs WHERE state = 'CLAIMED' AND listener = 'lab.delivery.Quick'`
	base.Await(`SELECT count(*) >= 1 ` + held)
	var first time.Time
	require.NoError(t, base.DB.Get(&first, `SELECT max(lease_expires_at) `+held))
	mine := base.Int(`SELECT count(*) ` + held)
	other := lab.StartChild(t, base.URL, plan) // recovers whatever it may
	base.Await(`SELECT count(*) = $1 AND min(lease_expires_at) > $2::timestamptz + interval '5 seconds' `+held+` AND id IN (
		SELECT d.id FROM tidings.delivery d JOIN tidings.node n ON n.id = d.claimed_by WHERE n.name LIKE '%:' || $3::text)`, mine, first, holder.PID())
	base.Await(`SELECT count(*) = 11 - $1 FROM tidings.jobs WHERE state = 'COMPLETED' AND listener = 'lab.delivery.Quick'`, mine)
	holder.Tell("go 1")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history`), base.Describe())
	require.Equal(t, 1+mine, base.Int(`SELECT count(*) FROM effect WHERE listener = 'lab.delivery.Quick' AND pid = $1`, holder.PID()), other.PID())
}

// A process that is told to stop leaves what it has not started to the others at
// once, while it still runs what it has started.
func TestAStoppingProcessLeavesItsUnstartedJobsToAnother(t *testing.T) {
	t.Parallel()
	plan := one()
	plan.Listeners[0].TimeLimit = time.Minute
	plan.Delivery.Lease = time.Hour
	base := lab.NewBase(t, plan)
	stopping := holding(t, base, plan)
	stopping.Terminate()
	other := lab.StartChild(t, base.URL, plan)
	base.Await(`SELECT count(*) = 2 FROM effect WHERE pid = $1`, other.PID())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'CLAIMED'`))
	stopping.Tell("go 1")
	require.Equal(t, "exit status 0", stopping.Wait())
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE attempts <> 1 OR lease_losses <> 0 OR hand_backs <> 0`))
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.node`), "the stopped node is gone")
}

// A noisy listener, whose jobs do not end, is spread over the nodes, each with
// no more than it may soon run, and holds up no other listener on either.
func TestANoisyListenerIsSharedAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const workers = 4
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "Noisy", TimeLimit: time.Minute}, {Name: "Quiet"}},
		Delivery:  delivery.Config{Workers: workers},
	}
	base := lab.NewBase(t, plan)
	pub := publisher(t, base.URL, plan)
	orders := make([]string, 300)
	for i := range orders {
		orders[i] = "Noisy: block"
	}
	pub.Put(t, 1, orders...)
	a, b := lab.StartChild(t, base.URL, plan), lab.StartChild(t, base.URL, plan)
	const slots = workers * 3 / 4
	a.Expect(slots, "blocked Noisy")
	b.Expect(slots, "blocked Noisy")
	base.Await(`SELECT count(*) = 300 FROM tidings.jobs WHERE listener = 'lab.delivery.Quiet' AND state = 'COMPLETED'`)
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM (SELECT claimed_by FROM tidings.jobs
		WHERE listener = 'lab.delivery.Noisy' AND state = 'CLAIMED' GROUP BY 1 HAVING count(*) <= 100 + $1) n`, workers))
	require.Len(t, a.Lines("blocked Noisy"), slots, "one listener has no more than its slots")
	require.Len(t, b.Lines("blocked Noisy"), slots)
	for i := range orders {
		a.Tell("go %d", i+1)
		b.Tell("go %d", i+1)
	}
	base.AwaitSettled()
	base.Judge(plan.Spec())
	for _, pid := range []int{a.PID(), b.PID()} {
		require.NotZero(t, base.Int(`SELECT count(*) FROM effect WHERE pid = $1 AND listener = 'lab.delivery.Quiet'`, pid))
		require.Greater(t, base.Int(`SELECT count(*) FROM effect WHERE pid = $1 AND listener = 'lab.delivery.Noisy'`, pid), slots)
	}
}
