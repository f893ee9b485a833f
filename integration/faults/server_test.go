//go:build unix

package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/faults/app"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

// progress waits until n more effects are there.
func (f *fleet) progress(n int) {
	f.t.Helper()
	f.base.Await(`SELECT count(*) >= $1 FROM effect`, f.base.Int(`SELECT count(*) FROM effect`)+n)
}

// The server is stopped without a farewell and started again, over and over,
// under processes that publish and deliver over either kind of socket.
func TestAServerThatCrashesAgainAndAgainLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	server, base := lab.NewServer(t, soakPlan(), pgserver.Config{})
	f := newFleet(t, base, soakPlan(), dice(t), server.URL("postgres"), server.TCPURL("postgres"))
	f.start(2, 2)
	for range *crashes {
		f.progress(f.dice.IntN(200))
		require.NoError(t, server.Crash(t.Context()))
		require.NoError(t, server.Restart(t.Context()))
	}
	f.progress(1)
	f.rest()
	f.report("%d crashes", *crashes)
}

// Backends of the kernel are ended at random.
func TestEndingBackendsAtRandomLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, lab.NewBase(t, soakPlan()), soakPlan(), dice(t))
	f.start(3, 2)
	ended := 0
	for range *rounds {
		f.progress(f.dice.IntN(30))
		ended += f.base.Int(`SELECT count(pg_terminate_backend(pid)) FROM (
			SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND backend_type = 'client backend' ORDER BY hashint4(pid + $1) LIMIT $2) b`, f.dice.IntN(1000), 1+f.dice.IntN(6))
	}
	f.progress(1)
	f.rest()
	require.NotZero(t, ended)
	f.report("%d backends ended", ended)
}

// A server that refuses writes for a while spends no attempts, and publishers are
// told. lib/pq asks for READ WRITE at every BEGIN, which overrides the setting:
// there it refuses nothing but claims, which have no BEGIN.
func TestAReadOnlyServerSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	for driver, told := range map[string]string{"pgx": "no", "postgres": "ok"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			plan := soakPlan()
			plan.Driver = driver
			server, base := lab.NewServer(t, plan, pgserver.Config{})
			f := newFleet(t, base, plan, dice(t), server.URL("postgres"), server.TCPURL("postgres"))
			f.start(2, 1)
			publishing := plan
			publishing.PublishOnly = true
			pub := lab.Start(t, base.URL, publishing)
			publish := func() string {
				return app.Told(pub.Publish.Execute(t.Context(), lab.Publish{Tasks: []lab.Task{{Seq: 1}}}))
			}
			for range *crashes {
				f.progress(20 + f.dice.IntN(50))
				base.Exec(`ALTER SYSTEM SET default_transaction_read_only = on`)
				base.Exec(`SELECT pg_reload_conf()`)
				require.Eventually(t, func() bool { return publish() == told }, lab.Deadline, 10*time.Millisecond)
				base.Await(`SELECT xact_rollback > $1 FROM pg_stat_database WHERE datname = current_database()`,
					20+base.Int(`SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()`))
				require.Equal(t, told, publish())
				base.Exec(`ALTER SYSTEM RESET default_transaction_read_only`)
				base.Exec(`SELECT pg_reload_conf()`)
			}
			f.progress(1)
			f.rest()
			require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'FAILURE' AND error NOT LIKE '%ordered a failure%'`), base.Describe())
			f.report("%d times read-only", *crashes)
		})
	}
}

// Someone locks the table of the jobs for longer than the kernel's statements
// wait.
func TestALockedTableOfJobsLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, lab.NewBase(t, soakPlan()), soakPlan(), dice(t))
	f.start(2, 2)
	f.progress(100)
	tx := f.base.DB.MustBegin()
	tx.MustExec(`LOCK TABLE tidings.delivery IN ACCESS EXCLUSIVE MODE`)
	tx.MustExec(`SELECT pg_sleep(12)`) // the fault itself: 10 s are the kernel's patience
	require.NotZero(t, f.base.Int(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
	require.NoError(t, tx.Commit())
	f.progress(1)
	f.rest()
	f.report("12 s locked")
}

// A snapshot that someone holds keeps the dead rows of all that is delivered
// meanwhile, and keeps nothing from being delivered.
func TestAHeldSnapshotHoldsUpNoDelivery(t *testing.T) {
	t.Parallel()
	f := newFleet(t, lab.NewBase(t, soakPlan()), soakPlan(), dice(t))
	held, err := f.base.DB.BeginTxx(context.Background(), &repeatableRead)
	require.NoError(t, err)
	var before int
	require.NoError(t, held.Get(&before, `SELECT count(*) FROM tidings.delivery`))
	f.start(2, 2)
	started := time.Now()
	f.base.Await(`SELECT count(*) >= 100 FROM effect`)
	for time.Since(started) < *snapshot {
		f.progress(100)
	}
	var after int // as the snapshot sees it
	require.NoError(t, held.Get(&after, `SELECT count(*) FROM tidings.delivery`))
	require.Equal(t, before, after, "the snapshot is held")
	f.rest()
	require.NoError(t, held.Rollback())
	f.report("a snapshot of %v", *snapshot)
}
