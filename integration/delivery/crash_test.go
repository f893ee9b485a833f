//go:build unix

package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/process"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

// single is a plan of one listener on one worker with short limits: jobs behind
// the running one are claimed and not started.
func single() lab.Plan {
	return lab.Plan{
		Listeners: []lab.Listener{{Name: "A", TimeLimit: 2 * time.Second, First: 10 * time.Millisecond}},
		Delivery:  delivery.Config{Workers: 1, Lease: 3 * time.Second, Margin: 500 * time.Millisecond},
	}
}

func tame(p lab.Plan) lab.Plan {
	p.Tame = true
	return p
}

func publisher(t *testing.T, base *lab.Base, p lab.Plan) *lab.Node {
	p.PublishOnly = true
	return lab.Start(t, base.URL, p)
}

// holdOne publishes a job that blocks and two behind it, and returns when a
// child runs the first and holds the second.
func holdOne(base *lab.Base, pub *lab.Node, t *testing.T, c *process.Child, order string) {
	t.Helper()
	pub.Put(t, 1, order, "", "")
	c.Expect(1, "blocked A 1")
	base.Await(`SELECT count(*) >= 2 FROM tidings.delivery WHERE state = 'CLAIMED'`)
}

func TestJobsOfAKilledProcessAreDeliveredByAnother(t *testing.T) {
	t.Parallel()
	plan := single()
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	killed := lab.StartChild(t, base.URL, plan)
	holdOne(base, pub, t, killed, "block")
	killed.Kill()
	other := lab.StartChild(t, base.URL, tame(plan))
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 3, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, other.PID()))
	require.Len(t, killed.Lines("start"), 1, "the second job was not to be started")
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE attempts <> 1`),
		"a lost lease spends no attempt")
	require.NotZero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST'`))
}

// Contract 7: the stale worker is one that was stopped between claim and first
// statement; awake again, its listeners never start.
func TestAStaleWorkerNeverStartsItsListener(t *testing.T) {
	t.Parallel()
	plan := single()
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	stale := lab.StartChild(t, base.URL, plan)
	holdOne(base, pub, t, stale, "deaf")
	stale.Pause()
	other := lab.StartChild(t, base.URL, tame(plan))
	base.AwaitSettled()
	base.Judge(plan.Spec())
	stale.Tell("go 1")
	stale.Resume()
	// Awake, it takes part again: its worker gets past what it lost.
	other.Kill()
	pub.Put(t, 10, "")
	stale.Expect(1, "start A 10 1")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Len(t, stale.Lines("start"), 2, "only the first job and the one after its sleep")
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE late`),
		"the first job's attempt failed late: its transaction was ended by the server")
}

// A paused process holds the job that it runs no longer than the listener's
// limit and margin, over either kind of socket.
func TestTheRunningJobOfAPausedProcessIsRecovered(t *testing.T) {
	t.Parallel()
	plan := single()
	server, base := lab.NewServer(t, plan, pgserver.Config{})
	pub := publisher(t, base, plan)
	for i, url := range []string{base.Way(server.TCPURL("postgres")), base.URL} {
		seq := int64(10*i + 1)
		paused := lab.StartChild(t, url, plan)
		pub.Put(t, seq, "block")
		paused.Expect(1, fmt.Sprintf("blocked A %d", seq))
		paused.Pause()
		other := lab.StartChild(t, url, tame(plan))
		base.AwaitSettled()
		require.Equal(t, 1, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, other.PID()))
		paused.Resume()
		other.Kill()
		pub.Put(t, seq+1, "")
		paused.Expect(1, fmt.Sprintf("start A %d", seq+1))
		base.AwaitSettled()
		base.Judge(plan.Spec())
		paused.Kill()
	}
}

// A backend in a write to a client that stopped reading is ended by nothing of
// its own on a unix socket: maintenance of another node does it. On TCP the
// server's own tcp_user_timeout does.
func TestABackendWhoseReaderStoppedIsEnded(t *testing.T) {
	t.Parallel()
	plan := single()
	server, base := lab.NewServer(t, plan, pgserver.Config{})
	pub := publisher(t, base, plan)
	for i, url := range []string{base.URL, base.Way(server.TCPURL("postgres"))} {
		stopped := lab.StartChild(t, url, plan)
		seq := int64(10*i + 1)
		pub.Put(t, seq, "flood")
		stopped.Expect(1, fmt.Sprintf("blocked A %d", seq))
		stopped.Pause()
		base.Await(`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'ClientWrite')`)
		other := lab.StartChild(t, base.URL, tame(plan))
		base.AwaitSettled()
		base.Judge(plan.Spec())
		other.Kill()
		stopped.Kill()
	}
}

func TestEndingTheBackendInsideAListenerUndoesItsWrites(t *testing.T) {
	t.Parallel()
	plan := single()
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	child := lab.StartChild(t, base.URL, plan)
	pub.Put(t, 1, "block")
	child.Expect(1, "blocked A 1 1")
	require.Equal(t, 1, base.Int(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name LIKE 'tidings/%/2500' AND state = 'idle in transaction'`))
	child.Tell("go 1")
	child.Expect(1, "blocked A 1 2") // the word was said: it goes on
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 2, base.Int(`SELECT attempts FROM tidings.delivery`))
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM effect WHERE attempt = 2`))
}

// Contract 8: a listener that ends its process stops after the cap and one
// start, and its unstarted neighbours complete in their first attempt.
func TestAListenerThatEndsItsProcessIsStoppedAtTheCap(t *testing.T) {
	t.Parallel()
	const limit = 3
	plan := single()
	plan.Listeners[0].MaxAttempts = limit
	plan.Listeners[0].TimeLimit = 3 * time.Second
	// With an hour between polls the node keeps as many jobs ahead as it has
	// done: after a hundred it claims a hundred at once.
	plan.Delivery.Poll = time.Hour
	base := lab.NewBase(t, plan)
	child := lab.StartChild(t, base.URL, plan)
	lab.Tell(child, 1000, make([]string, 150)...)
	base.Await(`SELECT count(*) = 150 FROM tidings.delivery WHERE state = 'COMPLETED'`)
	// The worker is kept busy until the node holds all hundred.
	lab.Tell(child, 999, "block")
	child.Expect(1, "blocked A 999")
	orders := make([]string, 100)
	orders[0] = "exit"
	lab.Tell(child, 1, orders...)
	base.Await(`SELECT count(*) = 100 FROM tidings.delivery WHERE state = 'CLAIMED' AND event_id <> (
		SELECT id FROM "lab.delivery"."@event:Task" WHERE "Seq" = 999)`)
	child.Tell("go 999")
	starts := 0
	for !base.SettledOr(child.Ended()) {
		require.Equal(t, "exit status 7", child.Wait())
		starts += len(child.Lines("start A 1 "))
		child = lab.StartChild(t, base.URL, plan)
	}
	starts += len(child.Lines("start A 1 "))
	base.Judge(plan.Spec())
	require.Equal(t, limit+1, starts)
	require.Equal(t, 100, base.Int(`SELECT count(DISTINCT delivery_id) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST'`),
		"the neighbours were to be held by the process that died")
	require.Equal(t, 249, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'COMPLETED' AND attempts = 1 AND event_id <> (
		SELECT id FROM "lab.delivery"."@event:Task" WHERE "Seq" = 999)`), base.Describe())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED' AND reason = 'ATTEMPTS' AND attempts = $1`, limit))
}

// Contract 8, also for a listener that does not kill its process every time: a
// failure in between does not begin the count anew.
func TestAListenerThatFailsAndKillsInTurnIsStoppedAtTheCap(t *testing.T) {
	t.Parallel()
	const limit = 5
	plan := single()
	plan.Listeners[0].MaxAttempts, plan.Listeners[0].First = limit, time.Millisecond
	plan.Listeners[0].TimeLimit = 3 * time.Second
	base := lab.NewBase(t, plan)
	base.Exec(`CREATE SEQUENCE turn`)
	child := lab.StartChild(t, base.URL, plan)
	lab.Tell(child, 1, "turns")
	base.Await(`SELECT count(*) = 1 FROM tidings.delivery`)
	for !base.SettledOr(child.Ended()) {
		require.Equal(t, "exit status 7", child.Wait())
		child = lab.StartChild(t, base.URL, plan)
	}
	base.Judge(plan.Spec())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'FAILED'`))
	require.LessOrEqual(t, base.Int(`SELECT last_value FROM turn`), limit+1, base.Describe())
}
