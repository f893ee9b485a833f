//go:build unix

package nodes_test

import (
	"flag"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/integration/delivery/process"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

func TestMain(m *testing.M) {
	if process.Role() != "" {
		lab.ChildMain()
	}
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		// Most of the tests wait: for leases, for time-outs of the server.
		_ = flag.Set("test.parallel", strconv.Itoa(8*runtime.GOMAXPROCS(0)))
	}
	goleak.VerifyTestMain(pgtest.Runner{M: m})
}

// one is a plan of one listener with short limits.
func one() lab.Plan {
	return lab.Plan{
		Listeners: []lab.Listener{{Name: "A", TimeLimit: 2 * time.Second, First: 10 * time.Millisecond}},
		Delivery:  delivery.Config{Workers: 1, Lease: 3 * time.Second, Margin: 500 * time.Millisecond},
	}
}

func publisher(t *testing.T, url string, p lab.Plan) *lab.Node {
	t.Helper()
	p.PublishOnly = true
	return lab.Start(t, url, p)
}

// holding publishes a job that blocks and two behind it, and then starts a process
// that runs the first and holds the others.
func holding(t *testing.T, base *lab.Base, plan lab.Plan) *process.Child {
	t.Helper()
	publisher(t, base.URL, plan).Put(t, 1, "block", "", "")
	holder := lab.StartChild(t, base.URL, plan)
	holder.Expect(1, "blocked A 1")
	base.Await(`SELECT count(*) = 3 FROM tidings.delivery WHERE state = 'CLAIMED'`)
	return holder
}

// The kernel's statements, by what only they contain.
var (
	claimStatement  = []string{"SET state = 'CLAIMED'", "NOT c.suspect"}
	notifyStatement = []string{"pg_notify("}
)

// await waits until a condition of the test's own holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(lab.Deadline); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

// reach waits for a rule of a proxy to act.
func reach(t *testing.T, reached <-chan struct{}) {
	t.Helper()
	select {
	case <-reached:
	case <-time.After(lab.Deadline):
		t.Fatal("the statement never came")
	}
}

// sent counts the statements that contain all the parts.
func sent(p *pgproxy.Proxy, parts []string) (n int) {
	for _, s := range p.Statements() {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(s, part)
		}
		if all {
			n++
		}
	}
	return n
}
