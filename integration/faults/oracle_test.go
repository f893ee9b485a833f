//go:build unix

package faults_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/oracle"
	"github.com/tidings-go/tidings/integration/faults/app"
)

// What the lab's own test damages is left out here.
func TestTheOracleSeesWhatIsWrongWithTheApp(t *testing.T) {
	t.Parallel()
	plan := app.Plan(lab.Plan{Listeners: []lab.Listener{{Name: "A"}}})
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "", "", "")
	base.AwaitSettled()
	base.Judge(app.Spec(plan))
	told := []string{"up", "ok 1 3", "no 4 2", "unknown 6 1", "start A 1 1"}
	require.Empty(t, untrue(t, base.DB, told, map[string]int{}))
	for what, c := range map[string]struct{ damage, finding string }{
		"a note is lost":               {`DELETE FROM "lab.delivery"."@event:Note" WHERE "Seq" = 1`, `1 published, 0 stored`},
		"a note was emitted twice":     {`INSERT INTO "lab.delivery"."@event:Note" (id, "@occurredAt", "@correlation", "Seq") VALUES (gen_random_uuid(), now(), '', 1)`, `0 published, 1 stored`},
		"a job for a note is lost":     {`DELETE FROM tidings.delivery WHERE event_id = (SELECT id FROM "lab.delivery"."@event:Note" LIMIT 1)`, `has 0 jobs for lab.delivery.Keep`},
		"an effect is of another time": {`UPDATE effect SET attempt = 2 WHERE listener = 'lab.delivery.Keep'`, `counts 1 attempts, its effect is of attempt 2`},
		"a job was revived":            {`UPDATE tidings.delivery SET state = 'WAITING' WHERE id = 1`, `is WAITING and has 1 effects`},
		"a job was dropped by a node":  {`UPDATE tidings.delivery SET state = 'CANCELLED' WHERE id = 1`, `is CANCELLED and has 1 effects`},
		"what was told is lost":        {`DELETE FROM "lab.delivery"."@event:Task" WHERE "Seq" IN (1, 2, 3)`, `told "ok" of tasks from 1 on, and 0 of 3`},
		"a part of it is lost":         {`DELETE FROM "lab.delivery"."@event:Task" WHERE "Seq" = 2`, `told "ok" of tasks from 1 on, and 2 of 3`},
		"what was denied is there":     {`UPDATE "lab.delivery"."@event:Task" SET "Seq" = 5 WHERE "Seq" = 3`, `told "no" of tasks from 4 on, and 1 of 2`},
	} {
		t.Run(what, func(t *testing.T) {
			tx := base.DB.MustBegin()
			defer func() { require.NoError(t, tx.Rollback()) }()
			tx.MustExec(c.damage)
			v, err := oracle.Judge(t.Context(), tx, app.Spec(plan))
			require.NoError(t, err)
			v = append(v, untrue(t, tx, told, map[string]int{})...)
			require.Contains(t, strings.Join(v, "\n"), c.finding)
		})
	}
}
