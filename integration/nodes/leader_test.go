//go:build unix

package nodes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

// The session of whoever maintains is ended in the middle of a recovery, its lock
// goes with it and another node takes over: the work that was under way is undone,
// not done twice. A trigger that waits widens the window.
func TestAMaintainerWhoseSessionIsEndedLeavesNoSecondOne(t *testing.T) {
	t.Parallel()
	const key = 4711
	plan := one()
	base := lab.NewBase(t, plan)
	holding(t, base, plan).Kill()
	base.Exec(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END $$;
		CREATE TRIGGER hold BEFORE UPDATE ON tidings.delivery FOR EACH ROW
		WHEN (OLD.state = 'CLAIMED' AND NEW.failure = 'LEASE') EXECUTE FUNCTION hold()`)
	gate, err := base.DB.Connx(t.Context())
	require.NoError(t, err)
	defer gate.Close()
	_, err = gate.ExecContext(t.Context(), `SELECT pg_advisory_lock($1)`, key)
	require.NoError(t, err)

	tame := plan
	tame.Tame = true
	for range 3 {
		lab.StartChild(t, base.URL, tame)
	}
	const waiting = `FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	var ended []int
	for range 3 {
		base.Await(`SELECT count(*) = 1 ` + waiting)
		var pids []int
		require.NoError(t, base.DB.Select(&pids, `SELECT pid `+waiting))
		require.Len(t, pids, 1, "two maintain at once")
		require.NotContains(t, ended, pids[0])
		ended = append(ended, pids[0])
		base.Await(`SELECT pg_terminate_backend($1, 10000)`, pids[0])
		require.Equal(t, 3, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'CLAIMED' AND lease_losses = 0`))
	}
	_, err = gate.ExecContext(t.Context(), `SELECT pg_advisory_unlock($1)`, key)
	require.NoError(t, err)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 3, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST'`), "each lost lease once")
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE lease_losses > 1 OR attempts <> 1`), base.Describe())
}

// The database restarts under a serving process: it lives, says that it is not
// ready, and goes on by itself.
func TestAServingProcessOutlivesARestartOfTheDatabase(t *testing.T) {
	t.Parallel()
	plan := brisk()
	plan.Delivery.Poll = time.Hour // the restart itself has it look again
	database, base := lab.NewServer(t, plan, pgserver.Config{})
	plan.Listen = base.URL
	s := serve(t, base.URL, plan)
	s.awaitReady(200, "ready")
	pub := publisher(t, base.URL, plan)
	pub.Put(t, 1, "")
	base.AwaitSettled()
	for n := range int64(2) {
		require.NoError(t, database.Crash(t.Context()))
		s.awaitReady(503, "database not reached")
		require.NoError(t, database.Restart(t.Context()))
		s.awaitReady(200, "ready")
		pub.Put(t, 10+n, "", "")
		base.AwaitSettled()
	}
	base.Judge(plan.Spec())
	require.Zero(t, s.end())
}
