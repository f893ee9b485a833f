//go:build unix

package faults_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
)

var repeatableRead = sql.TxOptions{Isolation: sql.LevelRepeatableRead}

// victim is a job that the database refuses to treat as it should; the others
// are its neighbours.
const victim = `(SELECT id FROM "lab.delivery"."@event:Task" WHERE "Seq" = 2)`

// onVictim makes a trigger on the jobs' table that does something when the
// victim's row changes.
func onVictim(base *lab.Base, when, timing, deferrable, do string) {
	base.Exec(`CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.event_id = ` + victim + ` AND ` + when + ` THEN ` + do + ` END IF; RETURN NEW; END $$`)
	constraint, initially := "", ""
	if deferrable != "" {
		constraint, initially = "CONSTRAINT", "DEFERRABLE INITIALLY DEFERRED"
	}
	base.Exec(`CREATE ` + constraint + ` TRIGGER strike ` + timing + ` UPDATE ON tidings.delivery ` + initially + ` FOR EACH ROW EXECUTE FUNCTION strike()`)
}

func struckPlan() lab.Plan {
	return lab.Plan{
		Listeners: []lab.Listener{{Name: "A", MaxAttempts: 3, First: 10 * time.Millisecond, TimeLimit: time.Second}},
		Delivery:  delivery.Config{Workers: 2, Lease: 1500 * time.Millisecond, Margin: 500 * time.Millisecond, MaxLeaseLosses: 3},
	}
}

// struck publishes, waits for rest and judges: the victim alone fails, and no
// connection is kept but the node's own.
func struck(t *testing.T, base *lab.Base, node *lab.Node, text string, reasons ...string) {
	t.Helper()
	node.Put(t, 1, "", "A: fail 1", "", "", "")
	base.AwaitSettled()
	base.Judge(struckPlan().Spec())
	require.Equal(t, 4, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED' AND attempts = 1`), base.Describe())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED' AND reason = ANY ($1) AND last_error LIKE '%'||$2||'%'
		AND event_id = `+victim, pq.StringArray(reasons), text), base.Describe())
	require.Eventually(t, func() bool { return node.Pool.Stats().InUse <= 1 }, lab.Deadline, 10*time.Millisecond)
	require.NoError(t, node.Stop())
	require.Zero(t, node.Pool.Stats().InUse)
}

// An acknowledgement that the database refuses is a failure of the job, counted
// and kept, and leaks no transaction.
func TestAnAcknowledgementThatRaisesFailsItsJobAlone(t *testing.T) {
	t.Parallel()
	base := lab.NewBase(t, struckPlan())
	onVictim(base, `NEW.state = 'COMPLETED'`, "BEFORE", "", `RAISE 'struck at the acknowledgement';`)
	struck(t, base, lab.Start(t, base.URL, struckPlan()), "struck at the acknowledgement", delivery.FailureListener)
}

// A failure that the database refuses to record does not loop for ever: leases
// end the claims, a bounded number of times.
func TestAFailureThatCannotBeRecordedEnds(t *testing.T) {
	t.Parallel()
	base := lab.NewBase(t, struckPlan())
	base.Exec(`CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.kind = 'FAILURE' THEN RAISE 'struck at the failure'; END IF; RETURN NEW; END $$`)
	base.Exec(`CREATE TRIGGER strike BEFORE INSERT ON tidings.delivery_history FOR EACH ROW EXECUTE FUNCTION strike()`)
	plan := struckPlan()
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "", "A: fail 1000", "", "", "")
	base.AwaitSettled()
	require.Equal(t, 4, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED' AND attempts = 1`), base.Describe())
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED' AND event_id = `+victim), base.Describe())
	require.LessOrEqual(t, base.Int(`SELECT count(*) FROM tidings.delivery_history`), 10, base.Describe())
	require.NoError(t, node.Stop())
	require.Zero(t, node.Pool.Stats().InUse)
}

// A commit that the database refuses undoes the effect and fails the attempt.
func TestACommitThatRaisesFailsItsJobAlone(t *testing.T) {
	t.Parallel()
	base := lab.NewBase(t, struckPlan())
	onVictim(base, `NEW.state = 'COMPLETED'`, "AFTER", "deferred", `RAISE 'struck at the commit';`)
	struck(t, base, lab.Start(t, base.URL, struckPlan()), "struck at the commit", delivery.FailureListener)
}

// A commit that outlasts the transaction's limit is ended by maintenance:
// PostgreSQL switches the statement_timeout off before it commits (tried with 15).
func TestACommitThatTakesTooLongFailsItsJobAlone(t *testing.T) {
	t.Parallel()
	base := lab.NewBase(t, struckPlan())
	onVictim(base, `NEW.state = 'COMPLETED'`, "AFTER", "deferred", `PERFORM pg_sleep(3600);`)
	struck(t, base, lab.Start(t, base.URL, struckPlan()), "", unknownAtCap...)
}

// unknownAtCap are the reasons of a job whose last COMMIT had an unknown outcome:
// its worker recorded that, or its lease ended before.
var unknownAtCap = []string{delivery.FailureUnknown, delivery.FailureAttempts}

// A commit whose backend is ended while it is under way has an unknown outcome.
// The attempts are counted all the same, and end.
func TestACommitThatIsTerminatedFailsItsJobAlone(t *testing.T) {
	t.Parallel()
	base := lab.NewBase(t, struckPlan())
	onVictim(base, `NEW.state = 'COMPLETED'`, "AFTER", "deferred", `PERFORM pg_sleep(3600);`)
	node := lab.Start(t, base.URL, struckPlan())
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			case <-time.After(50 * time.Millisecond): // poll
				_, _ = base.DB.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE datname = current_database() AND wait_event = 'PgSleep' AND query LIKE '%COMMIT%'`)
			}
		}
	}()
	defer func() { close(over); <-ended }()
	struck(t, base, node, "", unknownAtCap...)
}
