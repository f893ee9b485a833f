//go:build unix

package delivery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
)

// The kernel's statements, by what only they contain.
var (
	claimStatement       = []string{"SET state = 'CLAIMED'", "NOT c.suspect"}
	acknowledgeStatement = []string{"SET state = 'COMPLETED', claim_token = NULL"}
	loadStatement        = []string{"@event:Task", "ANY ($1::uuid[])"}
	failStatement        = []string{"'FAILURE'", "INSERT INTO"}
	recoverStatement     = []string{"'LEASE_LOST'", "INSERT INTO"}
	promoteStatement     = []string{"SET state = 'READY'", "state = 'WAITING' AND due_at <= now()"}
	suspectStatement     = []string{"SET state = 'CLAIMED'", "AND c.suspect"}
	markStatement        = []string{"SET started_at = clock_timestamp()"}
	handBackStatement    = []string{"unnest($1::bigint[], $2::uuid[])", "attempts - 1"}
	groupStatement       = []string{"SET state = 'COMPLETED', claim_token = NULL", "unnest($3::bigint[], $4::uuid[])"}
	effectStatement      = []string{"INSERT INTO effect"}
)

// cuttable is a plan whose leases a lost claim does not hold for long.
func cuttable() lab.Plan {
	return lab.Plan{
		Listeners: []lab.Listener{{Name: "A", First: 10 * time.Millisecond, TimeLimit: time.Second}},
		Delivery:  delivery.Config{Workers: 2, Lease: 1500 * time.Millisecond, Margin: 500 * time.Millisecond},
	}
}

// cut is where a connection is lost.
type cut struct {
	statement []string
	commit    bool // cut at the transaction's COMMIT instead
	group     int
	kill      bool // have a process killed before, so that there is something to recover
}

// A connection that is lost at any statement of the kernel, before the server
// got it or after it was executed and before the answer came, loses and repeats
// nothing: jobs have one effect, and as many attempts as were started.
func TestALostConnectionRepeatsNothing(t *testing.T) {
	t.Parallel()
	cuts := map[string]cut{
		"claim":                   {statement: claimStatement},
		"load":                    {statement: loadStatement},
		"acknowledge":             {statement: acknowledgeStatement},
		"fail":                    {statement: failStatement},
		"COMMIT of a failure":     {statement: failStatement, commit: true},
		"promote":                 {statement: promoteStatement},
		"COMMIT of a promotion":   {statement: promoteStatement, commit: true},
		"recover":                 {statement: recoverStatement, kill: true},
		"COMMIT of a recovery":    {statement: recoverStatement, commit: true, kill: true},
		"claim a suspect":         {statement: suspectStatement, kill: true},
		"mark":                    {statement: markStatement, kill: true},
		"COMMIT of a mark":        {statement: markStatement, commit: true, kill: true},
		"COMMIT of an effect":     {statement: effectStatement, commit: true},
		"an effect":               {statement: effectStatement},
		"acknowledge a group":     {statement: groupStatement, group: 4},
		"COMMIT of a group":       {statement: groupStatement, group: 4, commit: true},
		"load of a suspect":       {statement: loadStatement, kill: true},
		"acknowledge of suspects": {statement: acknowledgeStatement, kill: true},
	}
	if lab.BehindPgBouncer() { // a claim is no transaction by itself
		cuts["COMMIT of a claim"] = cut{statement: claimStatement, commit: true}
		cuts["COMMIT of a suspect"] = cut{statement: suspectStatement, commit: true, kill: true}
	}
	for name, c := range cuts {
		for point, at := range map[string]pgproxy.Point{"sent": pgproxy.BeforeSending, "answered": pgproxy.BeforeAnswering} {
			t.Run(name+", not "+point, func(t *testing.T) {
				t.Parallel()
				plan := cuttable()
				plan.Listeners[0].Group = c.group
				if !c.kill { // nothing waits for a lease: no limit that a busy machine reaches
					plan.Listeners[0].TimeLimit = 30 * time.Second
				}
				base := lab.NewBase(t, plan)
				orders := []string{"", "fail 1", "", "fail 2", ""}
				if c.group > 0 {
					orders = make([]string, 40) // no failure, or there is no COMMIT of a group
				}
				if c.kill {
					pub := publisher(t, base, plan)
					killed := lab.StartChild(t, base.URL, plan)
					pub.Put(t, 1, "block", "block", "")
					killed.Expect(2, "blocked")
					killed.Kill()
				}
				proxy := pgproxy.Start(t, base.URL)
				node := lab.Start(t, proxy.URL(), tameIf(plan, c.kill))
				rule := pgproxy.Rule{Match: pgproxy.Containing(c.statement...), Point: at, Times: 2}
				if c.commit {
					rule.Match = pgproxy.CommitAfter(c.statement...)
				}
				reached := proxy.Add(rule)
				publisher(t, base, plan).Put(t, 10, orders...)
				await(t, reached, proxy)
				base.AwaitSettled()
				base.Judge(plan.Spec())
				require.Zero(t, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state <> 'COMPLETED'`))
				if !c.kill && !strings.HasSuffix(name, "effect") && c.group == 0 {
					require.Equal(t, 8, base.Int(`SELECT sum(attempts) FROM tidings.delivery`), "attempts are those that were started\n%s", base.Describe())
					require.Equal(t, 3, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'FAILURE'`), "failures\n%s", base.Describe())
				}
				require.NoError(t, node.App.Stop(t.Context()))
				require.Zero(t, node.Pool.Stats().InUse)
			})
		}
	}
}

func tameIf(p lab.Plan, yes bool) lab.Plan {
	p.Tame = yes
	return p
}

// await waits until a rule has acted.
func await(t *testing.T, reached <-chan struct{}, p *pgproxy.Proxy) {
	t.Helper()
	select {
	case <-reached:
	case <-time.After(lab.Deadline):
		t.Fatalf("the statement never came: %q", p.Statements())
	}
}
