//go:build unix

package nodes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/kernel"
)

// refuse keeps nodes from registering; allow lets them again.
func refuse(base *lab.Base) {
	base.Exec(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no registration today'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON tidings.node FOR EACH ROW EXECUTE FUNCTION refuse()`)
}

func allow(base *lab.Base) { base.Exec(`DROP TRIGGER refuse ON tidings.node`) }

// live says that a node is registered.
const live = `SELECT EXISTS (SELECT FROM tidings.node WHERE expires_at > clock_timestamp())`

// brisk is a plan of a node whose registration goes stale soon.
func brisk() lab.Plan {
	p := one()
	p.Delivery.Poll, p.Delivery.Maintenance, p.Delivery.Heartbeat = 20*time.Millisecond, 20*time.Millisecond, 500*time.Millisecond
	return p
}

// untouched says that none of n unfinished jobs was ever claimed.
const untouched = `SELECT count(*) = $1 FROM tidings.jobs
	WHERE stored_state = 'READY' AND attempts = 0 AND claimed_by IS NULL AND first_attempt_at IS NULL`

func TestANodeThatCannotRegisterClaimsNothingAndHeals(t *testing.T) {
	t.Parallel()
	plan := brisk()
	base := lab.NewBase(t, plan)
	pub := publisher(t, base.URL, plan)
	pub.Put(t, 1, "", "")

	refuse(base)
	failed := serve(t, base.URL, plan)
	require.Equal(t, kernel.ExitError, <-failed.ended)
	failed.ended <- 0
	require.Contains(t, failed.errors.String(), "register node")
	require.Contains(t, failed.errors.String(), "no registration today")
	base.Await(untouched, 2)

	allow(base)
	way := pgproxy.Start(t, base.URL)
	s := serve(t, way.URL(), plan)
	base.AwaitSettled()
	s.awaitReady(200, "ready")

	for _, lost := range []string{`SELECT 1`, `DELETE FROM tidings.node`} { // stale, or gone altogether
		refuse(base)
		base.Exec(lost)
		base.Await(`SELECT NOT (` + live + `)`)
		s.awaitReady(503, "registration")
		pub.Put(t, 10, "", "", "")
		way.Forget()
		await(t, "more claims", func() bool { return sent(way, claimStatement) >= 10 })
		base.Await(untouched, 3)
		base.Await(`SELECT count(*) = 3 FROM tidings.jobs WHERE state = 'BLOCKED'`)
		allow(base)
		s.awaitReady(200, "ready")
		base.AwaitSettled()
	}
	base.Judge(plan.Spec())
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE attempts <> 1`))
	require.Equal(t, kernel.ExitOK, s.end())
}

// A claim counts the registration at the moment of the claim, not of its
// transaction's beginning: the process may have been paused in between.
func TestAClaimUnderARegistrationThatWentStaleOnTheWayTakesNothing(t *testing.T) {
	t.Parallel()
	plan := brisk()
	base := lab.NewBase(t, plan)
	way := pgproxy.Start(t, base.URL)
	pub := publisher(t, base.URL, plan)
	lab.Start(t, way.URL(), plan)
	hold := make(chan struct{})
	reach(t, way.Add(pgproxy.Rule{Match: pgproxy.Containing(claimStatement...), Point: pgproxy.BeforeSending, Hold: hold}))
	refuse(base)
	base.Await(`SELECT NOT (` + live + `)`)
	pub.Put(t, 1, "", "")
	way.Forget()
	close(hold)
	await(t, "more claims", func() bool { return sent(way, claimStatement) >= 10 })
	base.Await(untouched, 2)
	allow(base)
	base.AwaitSettled()
	base.Judge(plan.Spec())
}

// The first thing that a node does is to register.
func TestANodeRegistersBeforeItClaims(t *testing.T) {
	t.Parallel()
	plan := brisk()
	base := lab.NewBase(t, plan)
	publisher(t, base.URL, plan).Put(t, 1, "", "")
	way := pgproxy.Start(t, base.URL)
	hold := make(chan struct{})
	registering := way.Add(pgproxy.Rule{Match: pgproxy.Containing("INSERT INTO", "AS n (id, name"), Point: pgproxy.BeforeSending, Hold: hold})
	started := make(chan struct{})
	go func() {
		defer close(started)
		lab.Start(t, way.URL(), plan)
	}()
	reach(t, registering)
	require.Zero(t, sent(way, claimStatement))
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state <> 'READY'`))
	close(hold)
	<-started
	base.AwaitSettled()
	base.Judge(plan.Spec())
}
