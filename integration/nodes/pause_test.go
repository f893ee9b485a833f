//go:build unix

package nodes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
)

// A process that stops in the middle of one of the kernel's own transactions
// holds the rows of jobs that others could run: the server ends the transaction.
func TestAProcessPausedInAnyTransactionFreezesNoJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement []string
		orders    []string
	}{
		"claim":  {claimStatement, []string{"", "", ""}},
		"load":   {[]string{"@event:Task", "ANY ($1::uuid[])"}, []string{"", "", ""}},
		"renew":  {[]string{"SET lease_expires_at = clock_timestamp()", "unnest"}, []string{"block", "", ""}},
		"fail":   {[]string{"'FAILURE'", "INSERT INTO"}, []string{"fail 1", "", ""}},
		"effect": {[]string{"INSERT INTO effect"}, []string{"", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := one()
			base := lab.NewBase(t, plan)
			publisher(t, base.URL, plan).Put(t, 1, c.orders...)
			way := pgproxy.Start(t, base.URL)
			hold := make(chan struct{})
			reached := way.Add(pgproxy.Rule{Match: pgproxy.Containing(c.statement...), Point: pgproxy.BeforeAnswering, Hold: hold})
			paused := lab.StartChild(t, way.URL(), plan)
			reach(t, reached)
			paused.Pause()
			tame := plan
			tame.Tame = true
			other := lab.StartChild(t, base.URL, tame)
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Equal(t, len(c.orders), base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, other.PID()))
			// Awake again it does no harm, and takes part.
			other.Kill()
			close(hold)
			paused.Resume()
			publisher(t, base.URL, plan).Put(t, 100, "", "")
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Equal(t, 2, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, paused.PID()))
		})
	}
}

// Rows that a listener has left open fill the socket while its process is paused.
func TestAProcessPausedWithRowsOpenWakesUpAndDoesNoHarm(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func(*testing.T, *lab.Base) string{
		"unix socket": func(_ *testing.T, base *lab.Base) string { return base.URL },
		"TCP":         func(t *testing.T, base *lab.Base) string { return pgproxy.Start(t, base.URL).URL() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := one()
			base := lab.NewBase(t, plan)
			pub := publisher(t, base.URL, plan)
			pub.Put(t, 1, "flood", "", "") // before the start: the first claim takes two, whose first has a time limit
			paused := lab.StartChild(t, way(t, base), plan)
			paused.Expect(1, "blocked A 1")
			paused.Pause()
			require.GreaterOrEqual(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE claim_token IS NOT NULL`), 2)
			tame := plan
			tame.Tame = true
			other := lab.StartChild(t, base.URL, tame)
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Equal(t, 3, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, other.PID()))
			paused.Tell("go 1")
			paused.Resume()
			other.Kill()
			pub.Put(t, 100, "", "")
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Equal(t, 2, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, paused.PID()))
			require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE late`), base.Describe())
		})
	}
}
