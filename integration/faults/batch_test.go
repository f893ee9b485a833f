//go:build unix

package faults_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
)

// refuse has the database refuse an update of the jobs up to an id.
func refuse(base *lab.Base, last int, when string) {
	base.Exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'bad row'; END $$`)
	base.Exec(fmt.Sprintf(`CREATE TRIGGER refuse BEFORE UPDATE ON tidings.delivery FOR EACH ROW
		WHEN (OLD.id <= %d AND %s) EXECUTE FUNCTION refuse()`, last, when))
}

// Reported: a batch full of rows that could not be rescued hid the ones behind
// it. Here there are more of them than a batch of recovery holds.
func TestABatchOfJobsThatCannotBeRecoveredHidesNoneBehindIt(t *testing.T) {
	t.Parallel()
	const before, behind, good = 280, 290, 10
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A"}},
		Delivery:  delivery.Config{Workers: 2, Maintenance: time.Second},
	}
	base := lab.NewBase(t, plan)
	greedy := plan // claims as many ahead as it has delivered since the last poll
	greedy.Delivery.Batch, greedy.Delivery.Poll = 270, time.Hour
	dead := lab.StartChild(t, base.URL, greedy)
	lab.Tell(dead, 1, slices.Concat(make([]string, before), []string{"deaf", "deaf"}, make([]string, behind))...)
	dead.Expect(2, "blocked")
	dead.Kill()
	claimed := base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'CLAIMED'`)
	require.Greater(t, claimed, 100+good, "the process had claimed more than a batch")
	refuse(base, base.Int(`SELECT id FROM tidings.delivery WHERE state = 'CLAIMED' ORDER BY id OFFSET $1 LIMIT 1`, claimed-good-1), `NEW.lease_losses > OLD.lease_losses`)
	base.Exec(`UPDATE tidings.delivery SET lease_expires_at = now() WHERE state = 'CLAIMED'`) // a minute is over
	plan.Tame = true
	lab.Start(t, base.URL, plan)
	base.Await(`SELECT count(*) = $1 FROM tidings.delivery WHERE state = 'COMPLETED'`, before+2+behind-claimed+good)
	require.Equal(t, claimed-good, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'CLAIMED'`))
	base.Exec(`DROP TRIGGER refuse ON tidings.delivery`)
	base.AwaitSettled()
	base.Judge(plan.Spec())
}

// The same with jobs whose retry is due, in more than one batch of those.
func TestABatchOfRetriesThatCannotBeginHidesNoneBehindIt(t *testing.T) {
	t.Parallel()
	const bad, good = 1010, 20
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A"}}, Delivery: delivery.Config{Maintenance: time.Second}}
	base := lab.NewBase(t, plan)
	setUp := lab.Start(t, base.URL, plan)
	require.NoError(t, setUp.Stop())
	fill(base, 1, bad+good)
	base.Exec(`UPDATE tidings.delivery SET state = 'WAITING', attempts = 1, due_at = now() - interval '1 hour' + interval '1 second' * id`)
	refuse(base, base.Int(`SELECT id FROM tidings.delivery ORDER BY id OFFSET $1 LIMIT 1`, bad-1), `OLD.state = 'WAITING'`)
	lab.Start(t, base.URL, plan)
	base.Await(`SELECT count(*) = $1 FROM tidings.delivery WHERE state = 'COMPLETED'`, good)
	require.Equal(t, bad, base.Int(`SELECT count(*) FROM tidings.delivery WHERE state = 'WAITING'`))
	spec := plan.Spec()
	spec.Unfinished = true
	base.Judge(spec)
}
