package delivery

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// jobTable returns a database with the framework's tables and the listeners a.L1
// to a.L20, of which all but the last have a live node.
func jobTable(t *testing.T) *sqlx.DB {
	t.Helper()
	db := sqlx.NewDb(pgtest.Open(t, FrameworkModel(DefaultSchema).DDL()...), "postgres")
	mustExec(t, db, `CREATE SEQUENCE event`)
	mustExec(t, db, `INSERT INTO tidings.event_type (name) VALUES ('a.E')`)
	mustExec(t, db, `INSERT INTO tidings.listener (event_type_id, name) SELECT 1, 'a.L' || n FROM generate_series(1, 20) n`)
	mustExec(t, db, `INSERT INTO tidings.node (id, name, expires_at, listeners, model)
		SELECT gen_random_uuid(), 'n', clock_timestamp() + interval '1 hour', array_agg(n), 'm' FROM generate_series(1, 19) n`)
	return db
}

func mustExec(t *testing.T, db *sqlx.DB, statement string, args ...any) {
	t.Helper()
	_, err := db.Exec(statement, args...)
	require.NoError(t, err)
}

// jobs adds n jobs of one listener, created and due a second apart, the last one
// ago before now.
func jobs(t *testing.T, db *sqlx.DB, n, listener int, state string, ago time.Duration) {
	t.Helper()
	mustExec(t, db, `INSERT INTO tidings.delivery (event_type_id, event_id, listener_id, state, created_at, due_at, completed_at, claim_token, lease_expires_at)
		SELECT 1, lpad(to_hex(nextval('event')), 32, '0')::uuid, $2, $3, at, CASE WHEN $3 = 'WAITING' THEN clock_timestamp() + interval '1 hour' ELSE at END,
			CASE WHEN $3 = 'COMPLETED' THEN at END,
			CASE WHEN $3 = 'CLAIMED' THEN gen_random_uuid() END, CASE WHEN $3 = 'CLAIMED' THEN clock_timestamp() END
		FROM (SELECT clock_timestamp() - $4::bigint * interval '1 microsecond' - i * interval '1 second' AS at FROM generate_series(0, $1::int - 1) i) x`,
		n, listener, state, ago.Microseconds())
}

func readBacklog(t *testing.T, b *BacklogReader) map[string]ListenerBacklog {
	t.Helper()
	log, err := b.Read(t.Context())
	require.NoError(t, err)
	all := map[string]ListenerBacklog{}
	for _, l := range log.Listeners {
		all[l.Listener] = l
	}
	return all
}

func TestTheBacklogTellsAgesAndJobsOfEveryListener(t *testing.T) {
	t.Parallel()
	db := jobTable(t)
	jobs(t, db, 3, 1, "READY", time.Minute)
	jobs(t, db, 1, 2, "WAITING", time.Hour)
	jobs(t, db, 2, 3, "CLAIMED", 2*time.Hour)
	jobs(t, db, 4, 4, "FAILED", 3*time.Hour)
	jobs(t, db, 5, 5, "COMPLETED", 4*time.Hour)
	jobs(t, db, 1, 6, "WAITING", time.Hour)
	mustExec(t, db, `UPDATE tidings.delivery SET due_at = clock_timestamp() - interval '10 seconds' WHERE listener_id = 6`)
	jobs(t, db, 1, 7, "READY", time.Hour)
	mustExec(t, db, `UPDATE tidings.delivery SET suspect = true WHERE listener_id = 7`)
	jobs(t, db, 2, 20, "READY", time.Minute)
	all := readBacklog(t, NewBacklogReader(persistence.New(db), DefaultSchema))
	require.Len(t, all, 20)
	near := func(want, got time.Duration) { t.Helper(); require.InDelta(t, want.Seconds(), got.Seconds(), 30) }

	require.EqualValues(t, 3, all["a.L1"].Ready)
	near(time.Minute+2*time.Second, all["a.L1"].QueueAge)
	near(time.Minute+2*time.Second, all["a.L1"].OldestUnfinished)
	require.EqualValues(t, 1, all["a.L2"].Waiting)
	require.Zero(t, all["a.L2"].QueueAge, "what waits for its retry is not late")
	near(time.Hour, all["a.L2"].OldestUnfinished)
	require.EqualValues(t, 2, all["a.L3"].Claimed)
	require.Zero(t, all["a.L3"].QueueAge)
	near(2*time.Hour, all["a.L3"].OldestUnfinished)
	require.Equal(t, ListenerBacklog{Listener: "a.L4", Nodes: 1, Failed: 4}, all["a.L4"], "a failed job is over until an operator retries it")
	require.Equal(t, ListenerBacklog{Listener: "a.L5", Nodes: 1}, all["a.L5"])
	near(10*time.Second, all["a.L6"].QueueAge)
	require.EqualValues(t, 1, all["a.L7"].Ready, "a suspect is ready too")
	near(time.Hour, all["a.L7"].QueueAge)
	require.Equal(t, 0, all["a.L20"].Nodes)
	require.EqualValues(t, 2, all["a.L20"].Ready)
}

func TestManyJobsAreCountedApartAndNotEveryTime(t *testing.T) {
	t.Parallel()
	db := jobTable(t)
	jobs(t, db, countBound+500, 1, "WAITING", time.Hour)
	jobs(t, db, countBound+1, 2, "READY", time.Hour)
	jobs(t, db, 7, 3, "FAILED", time.Hour)
	b := NewBacklogReader(persistence.New(db), DefaultSchema)
	all := readBacklog(t, b)
	require.EqualValues(t, countBound+500, all["a.L1"].Waiting)
	require.EqualValues(t, countBound+1, all["a.L2"].Ready)
	require.EqualValues(t, 7, all["a.L3"].Failed)
	jobs(t, db, 100, 1, "WAITING", time.Hour)
	require.EqualValues(t, countBound+500, readBacklog(t, b)["a.L1"].Waiting, "counted anew only after a while")
	mustExec(t, db, `DELETE FROM tidings.delivery WHERE id IN (SELECT id FROM tidings.delivery WHERE listener_id = 1 LIMIT $1)`, countBound)
	require.EqualValues(t, 600, readBacklog(t, b)["a.L1"].Waiting, "below the bound every read counts")
}

func TestTheOldestSnapshotIsSeen(t *testing.T) {
	t.Parallel()
	db := jobTable(t)
	b := NewBacklogReader(persistence.New(db), DefaultSchema)
	held, err := db.BeginTxx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = held.Rollback() }()
	var began time.Time
	require.NoError(t, held.Get(&began, `SELECT now() FROM txid_current()`))
	require.Eventually(t, func() bool {
		log, err := b.Read(t.Context())
		return err == nil && log.OldestSnapshot > 50*time.Millisecond
	}, 30*time.Second, 10*time.Millisecond)
}

// unfinishedIndexes are those whose entries are unfinished or failed jobs: what a
// read of the backlog may touch of the job table.
var unfinishedIndexes = []string{
	"delivery_ready", "delivery_suspect", "delivery_waiting", "delivery_waiting_listener", "delivery_claimed", "delivery_failed",
}

var (
	usesIndex = regexp.MustCompile(`Index (?:Only )?Scan(?: Backward)? using (\S+) on delivery`)
	pagesRead = regexp.MustCompile(`Buffers: shared hit=(\d+)(?: read=(\d+))?`)
)

// TestTheBacklogIsReadByIndexesOfUnfinishedJobsAlone holds with the statistics of
// an empty table, as after a restore, and with fresh ones. TIDINGS_BIG=10 makes
// the table ten times as large.
func TestTheBacklogIsReadByIndexesOfUnfinishedJobsAlone(t *testing.T) {
	t.Parallel()
	size := 1
	if big := os.Getenv("TIDINGS_BIG"); big != "" {
		var err error
		size, err = strconv.Atoi(big)
		require.NoError(t, err)
	}
	db := jobTable(t)
	mustExec(t, db, `ALTER TABLE tidings.delivery SET UNLOGGED, SET (autovacuum_enabled = false)`)
	began := time.Now()
	for n := range 10 {
		jobs(t, db, size*60_000, n+1, "COMPLETED", time.Hour)
	}
	jobs(t, db, size*80_000, 1, "WAITING", time.Hour)
	jobs(t, db, size*20_000, 2, "WAITING", time.Hour)
	jobs(t, db, 20_000, 3, "READY", time.Minute)
	jobs(t, db, 2_000, 4, "FAILED", time.Hour)
	jobs(t, db, 500, 5, "CLAIMED", time.Minute)
	t.Logf("table filled in %v", time.Since(began))
	for _, statistics := range []string{`SELECT`, `ANALYZE tidings.delivery`, `VACUUM tidings.delivery`} {
		mustExec(t, db, statistics)
		plan := explainBacklog(t, db, fmt.Sprintf(backlogSQL, DefaultSchema), frontSize, countBound)
		checkPlan(t, statistics, plan)
		m := pagesRead.FindStringSubmatch(plan)
		require.NotNil(t, m, plan)
		hit, _ := strconv.Atoi(m[1])
		read, _ := strconv.Atoi(m[2])
		t.Logf("after %s: %d pages, %s", statistics, hit+read, plan[strings.LastIndex(plan, "Execution Time"):])
		// Some saturated counts of which every entry may need its page.
		require.Less(t, hit+read, 5*countBound, plan)
		for _, count := range []string{countReadySQL, countWaitingSQL, countFailedSQL} {
			plan := explainBacklog(t, db, fmt.Sprintf(count, DefaultSchema), "a.L1")
			checkPlan(t, statistics, plan)
			t.Logf("count after %s: %s", statistics, plan[strings.LastIndex(plan, "Execution Time"):])
		}
	}
	started := time.Now()
	all := readBacklog(t, NewBacklogReader(persistence.New(db), DefaultSchema))
	t.Logf("first read, with full counts: %v", time.Since(started))
	require.EqualValues(t, size*80_000, all["a.L1"].Waiting)
}

func checkPlan(t *testing.T, when, plan string) {
	t.Helper()
	require.NotContains(t, plan, "Seq Scan on delivery", when)
	require.NotContains(t, plan, "Bitmap", when)
	uses := usesIndex.FindAllStringSubmatch(plan, -1)
	require.NotEmpty(t, uses, plan)
	for _, u := range uses {
		require.Contains(t, unfinishedIndexes, u[1], "%s: %s", when, plan)
	}
}

// explainBacklog runs a statement of the backlog with its settings and returns its plan.
func explainBacklog(t *testing.T, db *sqlx.DB, statement string, args ...any) string {
	t.Helper()
	tx, err := db.BeginTxx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(context.Background(), backlogSettingsSQL, backlogTimeout.Milliseconds())
	require.NoError(t, err)
	var lines []string
	require.NoError(t, tx.Select(&lines, `EXPLAIN (ANALYZE, BUFFERS) `+statement, args...))
	return strings.Join(lines, "\n")
}
