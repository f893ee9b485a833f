//go:build unix

package delivery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
)

// badRow makes every transition of one job that maintenance could try fail.
const badRow = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'bad row'; END $$;
CREATE TRIGGER bad BEFORE UPDATE ON tidings.delivery FOR EACH ROW
	WHEN (OLD.id = 2 AND (OLD.state = 'WAITING' OR NEW.failure = 'LEASE')) EXECUTE FUNCTION refuse()`

// Neither a row that cannot be changed nor one that someone has locked keeps
// maintenance from the rows behind it, nor from its other work.
func TestABadAndALockedRowHideNoOther(t *testing.T) {
	t.Parallel()
	plan := cuttable()
	plan.Listeners[0].First, plan.Listeners[0].Longer = 3*time.Second, 3*time.Second
	base := lab.NewBase(t, plan)
	base.Exec(badRow)
	pub := publisher(t, base, plan)
	pub.Put(t, 1, "fail 1", "fail 1", "fail 1", "fail 1")
	lab.Start(t, base.URL, plan)
	base.Await(`SELECT count(*) = 3 FROM tidings.delivery WHERE state = 'COMPLETED'`)
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'WAITING' AND id = 2`))

	// A second row waits, and someone holds it.
	operator := base.DB.MustBegin()
	pub.Put(t, 10, "fail 1")
	base.Await(`SELECT state = 'WAITING' FROM tidings.delivery WHERE id = 5`)
	var held []int64
	require.NoError(t, operator.Select(&held, `SELECT id FROM tidings.delivery WHERE id = 5 AND state = 'WAITING' FOR UPDATE`))
	require.Len(t, held, 1)
	base.Await(`SELECT due_at < now() FROM tidings.delivery WHERE id = 5`)

	// A process dies meanwhile.
	killed := lab.StartChild(t, base.URL, lab.Plan{Listeners: []lab.Listener{{Name: "Other", TimeLimit: time.Second}}, Delivery: plan.Delivery})
	other := lab.Plan{Listeners: []lab.Listener{{Name: "Other"}}, PublishOnly: true}
	lab.Start(t, base.URL, other).Put(t, 20, "block")
	killed.Expect(1, "blocked Other 20")
	killed.Kill()
	base.Await(`SELECT count(*) = 1 FROM tidings.jobs WHERE listener = 'lab.delivery.Other' AND stored_state IN ('WAITING', 'READY') AND suspect`)
	require.NoError(t, operator.Rollback())
	base.Await(`SELECT state = 'COMPLETED' FROM tidings.delivery WHERE id = 5`)
	base.Exec(`DROP TRIGGER bad ON tidings.delivery`)
	base.Await(`SELECT count(*) = 5 FROM tidings.jobs WHERE listener = 'lab.delivery.A' AND state = 'COMPLETED' AND attempts = 2`)
}

func TestALostRowThatCannotBeRecoveredHidesNoOther(t *testing.T) {
	t.Parallel()
	plan := cuttable()
	base := lab.NewBase(t, plan)
	pub := publisher(t, base, plan)
	killed := lab.StartChild(t, base.URL, plan)
	pub.Put(t, 1, "block", "block", "", "")
	killed.Expect(2, "blocked")
	killed.Kill()
	base.Exec(badRow)
	lab.Start(t, base.URL, tame(plan))
	base.Await(`SELECT count(*) = 3 FROM tidings.delivery WHERE state = 'COMPLETED'`)
	require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery WHERE id = 2 AND state = 'CLAIMED'`))
	base.Exec(`DROP TRIGGER bad ON tidings.delivery`)
	base.AwaitSettled()
	base.Judge(plan.Spec())
}

// A process that is paused inside a step of maintenance holds the step's lock no
// longer than the step's time-out.
func TestAPausedMaintainerFreezesNobody(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string][]string{
		"promote": promoteStatement, "recover": recoverStatement,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := cuttable()
			base := lab.NewBase(t, plan)
			proxy := pgproxy.Start(t, base.URL)
			hold := make(chan struct{})
			reached := proxy.Add(pgproxy.Rule{Match: pgproxy.Containing(statement...), Point: pgproxy.BeforeAnswering, Hold: hold})
			maintainer := lab.StartChild(t, proxy.URL(), lab.Plan{Listeners: []lab.Listener{{Name: "Other"}}, Delivery: plan.Delivery})
			await(t, reached, proxy)
			maintainer.Pause()
			require.Equal(t, 1, base.Int(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`))
			pub := publisher(t, base, plan)
			killed := lab.StartChild(t, base.URL, plan)
			pub.Put(t, 1, "block", "fail 1")
			killed.Expect(1, "blocked")
			base.Await(`SELECT count(*) = 1 FROM tidings.delivery_history WHERE kind = 'FAILURE'`)
			killed.Kill()
			lab.Start(t, base.URL, tame(plan))
			base.AwaitSettled()
			base.Judge(plan.Spec())
			maintainer.Resume()
			close(hold)
			pub.Put(t, 5, "", "")
			base.AwaitSettled()
			base.Judge(plan.Spec())
		})
	}
}

// Whoever cannot reach the database, be it for longer than its leases, neither
// loses nor repeats anything: others do its jobs.
func TestANodeBehindADeadNetworkIsReplaced(t *testing.T) {
	t.Parallel()
	plan := cuttable()
	base := lab.NewBase(t, plan)
	proxy := pgproxy.Start(t, base.URL)
	hold := make(chan struct{})
	cutOff := lab.StartChild(t, proxy.URL(), plan)
	pub := publisher(t, base, plan)
	pub.Put(t, 1, "block", "block", "", "")
	cutOff.Expect(2, "blocked")
	proxy.Add(pgproxy.Rule{Match: pgproxy.Containing(""), Hold: hold, Times: 1 << 30})
	cutOff.Tell("go 1")
	cutOff.Tell("go 2")
	lab.Start(t, base.URL, tame(plan))
	base.AwaitSettled()
	base.Judge(plan.Spec())
	close(hold)
	base.Await(`SELECT count(*) = 2 FROM tidings.node WHERE expires_at > now()`)
	pub.PutMany(t, 10, 20)
	base.AwaitSettled()
	base.Judge(plan.Spec())
}
