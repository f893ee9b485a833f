//go:build unix

package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/integration/delivery/process"
	"github.com/tidings-go/tidings/integration/faults/app"
)

// fill stores tasks and their jobs as emit would have, in one statement, for a
// backlog that would take too long to publish.
func fill(base *lab.Base, from, to int) {
	base.Exec(`WITH made AS (
		INSERT INTO "lab.delivery"."@event:Task" (id, "@occurredAt", "@correlation", "Seq", "Do", "Only")
		SELECT gen_random_uuid(), clock_timestamp(), '', n, '', '' FROM generate_series($1::bigint, $2::bigint) n RETURNING id
	), published AS (
		INSERT INTO publication (event_id, event) SELECT id, $3 FROM made
	)
	INSERT INTO tidings.delivery (event_type_id, event_id, listener_id)
	SELECT l.event_type_id, made.id, l.id FROM made CROSS JOIN tidings.listener l`, from, to, lab.Event)
}

// awaitMany waits until a count has come to n, as long as it takes, if it goes on.
func awaitMany(base *lab.Base, count string, n int) {
	for done := 0; done < n; done = base.Int(count) {
		base.Await(`SELECT (`+count+`) >= $1`, min(n, done+100))
	}
}

// counting is a log that counts its lines.
type counting struct {
	slog.Handler
	lines *atomic.Int64
}

func (c counting) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

func (c counting) Handle(context.Context, slog.Record) error {
	c.lines.Add(1)
	return nil
}

// Ten thousand jobs that fail at once are retried apart, with few claims, and
// with few lines in the log; so are their last attempts.
func TestJobsThatFailAtOnceAreRetriedApart(t *testing.T) {
	t.Parallel()
	jobs := *failing
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A", MaxAttempts: 2, First: 10 * time.Second, Run: func(context.Context, lab.Self) error {
			return lab.ErrOrdered
		}}},
		Delivery: delivery.Config{Workers: 8, Maintenance: 250 * time.Millisecond},
	}
	base := lab.NewBase(t, plan)
	proxy := pgproxy.Start(t, base.URL)
	var claims, lines atomic.Int64
	proxy.Add(pgproxy.Rule{Match: func(s pgproxy.Statement) bool {
		if name(s.Text) == "claim" {
			claims.Add(1)
		}
		return false
	}})
	setUp := lab.Start(t, base.URL, plan) // fills the dictionary
	require.NoError(t, setUp.Stop())
	fill(base, 1, jobs)
	started := time.Now()
	node, err := lab.Open(proxy.URL(), plan, slog.New(counting{slog.DiscardHandler, &lines}))
	require.NoError(t, err)
	awaitMany(base, `SELECT count(*) FROM tidings.delivery_history WHERE attempt = 1`, jobs)
	// Where each was due, beside when it failed: 10 s, 20 % to either side.
	var least, most, spread float64
	require.NoError(t, base.DB.QueryRow(`SELECT min(w), max(w), stddev(w) FROM (
		SELECT extract(epoch FROM d.due_at - h.recorded_at)::float8 AS w
		FROM tidings.delivery d JOIN tidings.delivery_history h ON h.delivery_id = d.id AND h.attempt = 1) waits`).Scan(&least, &most, &spread))
	require.Greater(t, least, 7.9)
	require.Less(t, most, 12.5)
	require.Greater(t, spread, 0.8, "an even spread over 4 s has a deviation of 1.15 s")
	awaitMany(base, `SELECT count(*) FROM tidings.delivery WHERE state = 'FAILED' AND attempts = 2`, jobs)
	took := time.Since(started)
	polls := int64(took / (50 * time.Millisecond))
	require.NoError(t, node.Stop())
	base.Judge(plan.Spec())
	require.Less(t, claims.Load(), int64(2*jobs/8)+2*polls, "claims for %d attempts in %v", 2*jobs, took)
	require.Less(t, lines.Load(), 10+took.Milliseconds()/1000, "lines in the log")
	tell(t, "%d jobs failed twice in %v: %d claims, %d lines in the log, first waits %.1f to %.1f s", jobs, took.Round(time.Second), claims.Load(), lines.Load(), least, most)
}

// A backlog does not show in the memory of the node that works it off.
func TestABacklogLeavesTheMemoryOfANodeFlat(t *testing.T) {
	t.Parallel()
	const few, part = 1000, 250_000 // part: rows in one statement
	jobs, drained := *backlog, min(*drain, *backlog)
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A"}}, Delivery: delivery.Config{Workers: 8}}
	base := lab.NewBase(t, plan)
	setUp := lab.Start(t, base.URL, plan)
	require.NoError(t, setUp.Stop())
	fill(base, 1, few)
	node := app.StartMeter(t, base.URL, plan)
	small := meter(t, node, few)
	for from := few + 1; from <= jobs; from += part {
		fill(base, from, min(from+part-1, jobs))
	}
	started := time.Now()
	most := meter(t, node, drained)
	took := time.Since(started)
	if drained == jobs {
		base.AwaitSettled()
	}
	node.Terminate()
	require.Equal(t, "exit status 0", node.Wait())
	spec := plan.Spec()
	spec.Unfinished = drained < jobs
	base.Judge(spec)
	require.Less(t, most, small+16<<20, "bytes in use with a backlog of %d jobs, beside %d with %d", jobs, small, few)
	tell(t, "%d of %d jobs in %v (%.0f in a second): at most %.1f MiB in use, %.1f MiB in the first %d",
		drained, jobs, took.Round(time.Second), float64(drained-few)/took.Seconds(), float64(most)/(1<<20), float64(small)/(1<<20), few)
}

// meter asks a node for the memory that it uses until it has delivered so many
// jobs, and returns the most.
func meter(t *testing.T, node *process.Child, jobs int) (most int) {
	t.Helper()
	for done, stuck := 0, time.Now(); done < jobs; {
		asked := len(node.Lines("uses"))
		node.Tell("say")
		var uses, now int
		_, err := fmt.Sscanf(node.Expect(asked+1, "uses")[asked], "uses %d done %d", &uses, &now)
		require.NoError(t, err)
		most = max(most, uses)
		if now > done {
			done, stuck = now, time.Now()
		}
		require.Less(t, time.Since(stuck), lab.Deadline, "no progress after %d jobs", done)
		<-time.After(500 * time.Millisecond) // poll: each answer costs the node a collection
	}
	return most
}
