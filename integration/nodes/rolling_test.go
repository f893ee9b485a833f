//go:build unix

package nodes_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
)

// Contract 10, in a rolling deployment that fails: two old nodes, a new one with
// a listener of its own, and the new one killed.
func TestAListenerOfTheNewNodeAloneIsBlockedWithoutIt(t *testing.T) {
	t.Parallel()
	oldPlan := one()
	oldPlan.Delivery.Heartbeat = time.Second
	newPlan := oldPlan
	newPlan.Listeners = append(newPlan.Listeners, lab.Listener{Name: "B", TimeLimit: 5 * time.Second})
	base := lab.NewBase(t, newPlan)
	pub := publisher(t, base.URL, newPlan)
	for range 2 {
		lab.StartChild(t, base.URL, oldPlan)
	}
	const (
		states  = `SELECT count(*) = $1 FROM tidings.jobs WHERE listener = 'lab.delivery.' || $2 AND state = $3 AND attempts = $4`
		blocked = `SELECT count(*) = $1 FROM tidings.jobs WHERE listener = 'lab.delivery.B' AND state = 'BLOCKED'
			AND reason = 'no live node has the listener' AND attempts = 0`
	)

	pub.Put(t, 1, "", "", "")
	base.Await(states, 3, "A", "COMPLETED", 1)
	base.Await(blocked, 3)
	base.Await(`SELECT count(*) = 3 FROM tidings.delivery WHERE claimed_by IS NULL`)

	node := lab.StartChild(t, base.URL, newPlan)
	base.Await(states, 3, "B", "COMPLETED", 1)
	pub.Put(t, 11, "B: block", "B: block", "B: block", "B: block")
	node.Expect(1, "blocked B")
	base.Await(`SELECT count(*) >= 2 FROM tidings.delivery WHERE state = 'CLAIMED'`)
	node.Kill()
	pub.Put(t, 21, "")
	base.Await(blocked, 5) // held ones when their leases have ended
	base.Await(states, 8, "A", "COMPLETED", 1)
	require.NotZero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST'`))

	next := lab.StartChild(t, base.URL, lab.Plan{Listeners: newPlan.Listeners, Delivery: newPlan.Delivery, Tame: true})
	base.AwaitSettled()
	base.Judge(newPlan.Spec())
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE attempts <> 1`), base.Describe())
	require.Equal(t, 8, base.Int(`SELECT count(*) FROM effect WHERE listener = 'lab.delivery.B' AND pid IN ($1, $2)`, node.PID(), next.PID()))
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.jobs j JOIN tidings.node n ON n.id = j.claimed_by
		WHERE j.listener = 'lab.delivery.B' AND cardinality(n.listeners) = 1`), "old nodes claim no job of the new listener")
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history h JOIN tidings.node n ON n.id = h.node_id WHERE cardinality(n.listeners) = 1`))
}

// copyOfProgram is another program that does the same.
func copyOfProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "old")
	require.NoError(t, os.WriteFile(path, append(text, 0), 0o755))
	return path
}

// Contract 12. The models are told apart by the programs themselves.
func TestAnEventThatOnlyTheNewNodeCanReadIsLeftToIt(t *testing.T) {
	t.Parallel()
	plan := one()
	oldPlan, newPlan := plan, plan
	oldPlan.Old = true
	// Only one node each looks for jobs, and makes waiting ones ready.
	oldPlan.Delivery.Maintenance = time.Hour
	newPlan.Delivery.Poll, newPlan.Delivery.Maintenance = time.Hour, time.Hour
	base := lab.NewBase(t, plan)
	pub := publisher(t, base.URL, plan)
	program := copyOfProgram(t)
	old := lab.StartChildOf(t, program, base.URL, oldPlan)
	idle := lab.StartChild(t, base.URL, newPlan)

	pub.Put(t, 1, "new")
	base.Await(`SELECT count(*) = 1 FROM tidings.delivery d JOIN tidings.node n ON n.id = d.claimed_by
		WHERE d.state = 'WAITING' AND d.attempts = 0 AND d.last_error IS NULL AND NOT d.suspect AND n.name LIKE '%:' || $1::text`, old.PID())
	newPlan.Delivery = delivery.Config{Poll: 10 * time.Millisecond, Maintenance: 10 * time.Millisecond}
	node := lab.StartChild(t, base.URL, newPlan)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, node.PID()))
	require.Equal(t, 1, base.Int(`SELECT attempts FROM tidings.delivery`))
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history`))

	// Live nodes agree: it is a failure of the event, with no attempt spent.
	for _, c := range []interface {
		Terminate()
		Wait() string
	}{idle, node} {
		c.Terminate()
		require.Equal(t, "exit status 0", c.Wait())
	}
	lab.StartChildOf(t, program, base.URL, oldPlan)
	pub.Put(t, 2, "new", "")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED' AND reason = $1 AND attempts = 0
		AND last_error LIKE '%no such order%'`, delivery.FailurePayload), base.Describe())
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED' AND attempts = 1`))
}
