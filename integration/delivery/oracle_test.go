//go:build unix

package delivery_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/oracle"
)

func TestTheOracleSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A", MaxAttempts: 2, First: 1}, {Name: "B"}}}
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	node.Put(t, 1, "", "", "A: fail 9")
	base.AwaitSettled()
	base.Judge(plan.Spec())
	for name, c := range map[string]struct{ damage, finding string }{
		"a job is deleted":          {`DELETE FROM tidings.delivery WHERE id = (SELECT min(id) FROM tidings.delivery)`, `has 0 jobs for lab.delivery.A`},
		"a failed job is deleted":   {`DELETE FROM tidings.delivery WHERE state = 'FAILED' AND listener_id = (SELECT id FROM tidings.listener WHERE name = 'lab.delivery.A')`, `has 0 jobs for lab.delivery.A`},
		"an effect is copied":       {`INSERT INTO effect SELECT * FROM effect LIMIT 1`, `is COMPLETED and has 2 effects`},
		"an effect is deleted":      {`DELETE FROM effect WHERE event_id = (SELECT event_id FROM effect LIMIT 1)`, `is COMPLETED and has 0 effects`},
		"an event is deleted":       {`DELETE FROM "lab.delivery"."@event:Task" WHERE "Seq" = 1`, `1 published, 0 stored`},
		"an event was not asked":    {`DELETE FROM publication WHERE event_id = (SELECT event_id FROM publication LIMIT 1)`, `0 published, 1 stored`},
		"a job is left over":        {`UPDATE tidings.delivery SET state = 'READY' WHERE state = 'FAILED'`, `is left READY`},
		"history is lost":           {`DELETE FROM tidings.delivery_history WHERE attempt = 1`, `has no attempt 1`},
		"a failure has no reason":   {`UPDATE tidings.delivery SET last_error = NULL WHERE state = 'FAILED'`, `without reason`},
		"an attempt failed twice":   {`INSERT INTO tidings.delivery_history (delivery_id, kind, run, attempt, node_id) SELECT delivery_id, kind, run, attempt, node_id FROM tidings.delivery_history`, `2 failures of attempt 1`},
		"a failed job had effect":   {`INSERT INTO effect (event_id, listener) SELECT event_id, listener FROM tidings.jobs WHERE stored_state = 'FAILED'`, `is FAILED and has 1 effects`},
		"an effect is of no job":    {`INSERT INTO effect (event_id, listener) VALUES (gen_random_uuid(), 'x')`, `has no job`},
		"a job was done at no time": {`UPDATE tidings.delivery SET completed_at = NULL WHERE state = 'COMPLETED'`, `is COMPLETED after 1 attempts, at`},
	} {
		t.Run(name, func(t *testing.T) {
			tx := base.DB.MustBegin()
			defer func() { require.NoError(t, tx.Rollback()) }()
			tx.MustExec(c.damage)
			v, err := oracle.Judge(t.Context(), tx, plan.Spec())
			require.NoError(t, err)
			require.Contains(t, join(v), c.finding)
		})
	}
}

func join(v oracle.Verdict) (text string) {
	for _, line := range v {
		text += line + "\n"
	}
	return text
}
