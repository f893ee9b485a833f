//go:build unix

package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/integration/faults/app"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// scenario makes a node do everything that it does with the database: it
// publishes, claims, delivers, fails, retries, renews, takes over the jobs of a
// process that was killed, suspects them, hands back and stops.
type scenario struct {
	t     *testing.T
	base  *lab.Base
	proxy *pgproxy.Proxy
	node  *lab.Node
	told  []string // for each publication, with its number
	seq   int64

	lingers chan struct{} // closed when the listener runs that outlasts the stop
	mu      sync.Mutex
	starts  map[uuid.UUID]int // of A
	paths   map[string]bool   // of the statements sent
	renewed chan struct{}     // closed when a lease was renewed and claims were handed back
}

// sweepPlan has one worker for A, so that jobs are claimed ahead behind a
// listener that holds on.
func sweepPlan(run func(context.Context, lab.Self) error) lab.Plan {
	return app.Plan(lab.Plan{
		Listeners: []lab.Listener{{Name: "A", First: 10 * time.Millisecond, TimeLimit: 3 * time.Second, Run: run}},
		Delivery: delivery.Config{
			Workers: 2, Lease: 1500 * time.Millisecond, Margin: 500 * time.Millisecond, Heartbeat: 200 * time.Millisecond,
			Grace: 50 * time.Millisecond, Poll: 100 * time.Millisecond, Maintenance: 200 * time.Millisecond,
		},
	})
}

// killedDatabase is a database that a killed process has left, as a template:
// one job had started, at least one behind it was claimed.
func killedDatabase(t *testing.T) (name string) {
	t.Helper()
	plan := sweepPlan(nil)
	base := lab.NewBase(t, plan)
	pub := plan
	pub.PublishOnly = true
	publisher := lab.Start(t, base.URL, pub)
	killed := lab.StartChild(t, base.URL, plan)
	publisher.Put(t, 1, "A: block", "", "")
	killed.Expect(1, "blocked A 1")
	base.Await(`SELECT count(*) FILTER (WHERE state = 'CLAIMED') >= 2 AND count(*) FILTER (WHERE state = 'COMPLETED') = 6 FROM tidings.delivery`)
	killed.Kill()
	require.NoError(t, publisher.Stop())
	base.Await(`SELECT NOT EXISTS (SELECT FROM tidings.delivery WHERE state = 'CLAIMED' AND lease_expires_at > now())`)
	name = base.Text(`SELECT current_database()`)
	require.NoError(t, base.DB.Close())
	return name
}

var copies struct {
	sync.Mutex
	n int
}

// copyOf makes a database of the template.
func copyOf(t *testing.T, template string) *lab.Base {
	t.Helper()
	copies.Lock()
	copies.n++
	name := fmt.Sprintf("sweep %d", copies.n)
	copies.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server := pgtest.Server(t)
	require.NoError(t, server.CreateDatabase(ctx, name, template))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, server.DropDatabase(ctx, name))
	})
	return lab.Attach(t, server.URL(name))
}

func newScenario(t *testing.T, template string) *scenario {
	s := &scenario{
		t: t, base: copyOf(t, template), seq: 10, starts: map[uuid.UUID]int{}, paths: map[string]bool{},
		lingers: make(chan struct{}), renewed: make(chan struct{}),
	}
	s.proxy = pgproxy.Start(t, s.base.URL)
	var err error
	s.node, err = lab.Open(s.proxy.URL(), sweepPlan(s.listen), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.node.Stop() })
	s.proxy.Add(pgproxy.Rule{Match: s.observe}) // from the end of the start
	return s
}

// observe notes the statements that are sent; it is a rule that never acts.
func (s *scenario) observe(st pgproxy.Statement) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name(st.Text) == "" {
		s.t.Errorf("the sweep does not know the statement %s", st.Text)
	}
	s.paths[path(st)] = true
	if s.paths["BEGIN > guard > renew"] && s.paths["BEGIN > guard > hand back"] {
		select {
		case <-s.renewed:
		default:
			close(s.renewed)
		}
	}
	return false
}

// listen is the listener A.
func (s *scenario) listen(ctx context.Context, self lab.Self) error {
	s.mu.Lock()
	s.starts[self.Meta.EventID]++
	s.mu.Unlock()
	switch self.Event.Do {
	case "block": // of the killed process
		return lab.Effect(ctx, self)
	case "hold": // a while, if that does not come
		select {
		case <-s.renewed:
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return lab.Effect(ctx, self)
	case "linger":
		select {
		case <-s.lingers:
			return lab.Effect(ctx, self)
		default:
		}
		close(s.lingers)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return lab.Obey(ctx, self)
}

// publish publishes until it is told that it has, as a user would.
func (s *scenario) publish(orders ...string) {
	s.t.Helper()
	for range 5 {
		var p lab.Publish
		for _, o := range orders {
			only, do, found := strings.Cut(o, ": ")
			if !found {
				only, do = "", o
			}
			p.Tasks = append(p.Tasks, lab.Task{Seq: s.seq, Do: do, Only: only})
			s.seq++
		}
		told := app.Told(s.node.Publish.Execute(s.t.Context(), p))
		s.told = append(s.told, fmt.Sprintf("%s %d %d", told, p.Tasks[0].Seq, len(p.Tasks)))
		if told == "ok" || told == "unknown" && s.stored(p.Tasks[0].Seq) {
			return
		}
	}
	s.t.Fatalf("not published: %q", s.told)
}

func (s *scenario) stored(seq int64) bool {
	return s.base.Int(`SELECT count(*) FROM "lab.delivery"."@event:Task" WHERE "Seq" = $1`, seq) == 1
}

// run runs the scenario to its end, stops the node, and has another bring the
// rest to rest.
func (s *scenario) run() {
	s.t.Helper()
	s.publish("A: hold", "", "A: fail 1", "")
	s.base.AwaitSettled()
	s.publish("A: linger", "")
	select {
	case <-s.lingers:
	case <-time.After(lab.Deadline):
		s.t.Fatalf("the last listener did not start\n%s", s.base.Describe())
	}
	require.NoError(s.t, s.node.App.Stop(s.t.Context()))
	require.Zero(s.t, s.node.Pool.Stats().InUse, "a connection did not come back")
	other := lab.Start(s.t, s.base.URL, sweepPlan(func(ctx context.Context, self lab.Self) error {
		s.mu.Lock()
		s.starts[self.Meta.EventID]++
		s.mu.Unlock()
		return lab.Effect(ctx, self)
	}))
	s.base.AwaitSettled()
	require.NoError(s.t, other.Stop())
}

// judge asks the oracle, and whether attempts are those that were started.
func (s *scenario) judge() {
	s.t.Helper()
	s.base.Judge(app.Spec(sweepPlan(nil)))
	require.Zero(s.t, s.base.Int(`SELECT count(*) FROM tidings.jobs WHERE state <> 'COMPLETED'`), s.base.Describe())
	var jobs []struct {
		Event    uuid.UUID `db:"event_id"`
		Attempts int       `db:"attempts"`
	}
	require.NoError(s.t, s.base.DB.Select(&jobs, `SELECT event_id, attempts FROM tidings.jobs WHERE listener = 'lab.delivery.A'`))
	for _, j := range jobs {
		if n, ok := s.starts[j.Event]; ok && j.Attempts > n {
			s.t.Errorf("event %s counts %d attempts of %d starts\n%s", j.Event, j.Attempts, n, s.base.Describe())
		}
	}
	for _, wrong := range untrue(s.t, s.base.DB, s.told, map[string]int{}) {
		s.t.Error(wrong)
	}
}

// lostClaim is what has a claim's outcome unknown, so that the node hands back
// what it may have taken.
var lostClaim = pgproxy.Rule{Match: pgproxy.Containing("SET state = 'CLAIMED'", "NOT c.suspect"), Point: pgproxy.BeforeAnswering}

// boundaries runs the scenario undisturbed and returns the paths of the
// statements that it sent. A run in which something did not come, since the
// machine was busy, is run again.
func boundaries(t *testing.T, template string, must []string, rules ...pgproxy.Rule) []string {
	t.Helper()
	for range patience {
		s := newScenario(t, template)
		for _, r := range rules {
			s.proxy.Add(r)
		}
		s.run()
		s.judge()
		if !slices.ContainsFunc(must, func(k string) bool { return !s.visited(k) }) {
			return slices.Sorted(maps.Keys(s.paths))
		}
	}
	t.Fatalf("no run of the scenario had all of: %q", must)
	return nil
}

// patience is how often a scenario is run until it has come to what is wanted.
const patience = 5

// visited says whether a transaction of the kind came to its COMMIT, or was one
// statement.
func (s *scenario) visited(wanted string) bool {
	for p := range s.paths {
		if kind(p) == wanted && (strings.HasSuffix(p, "COMMIT") || !strings.Contains(p, ">")) {
			return true
		}
	}
	return false
}

// visit is one cut: at the first occurrence of a boundary after skip others.
type visit struct {
	path string
	skip int
	how  string
}

func (v visit) String() string { return fmt.Sprintf("%s (%d) %s", v.path, v.skip, v.how) }

var points = map[string]pgproxy.Point{
	"before it is sent": pgproxy.BeforeSending, "in flight": pgproxy.InFlight, "before its answer": pgproxy.BeforeAnswering,
}

// generalVisits is how often a boundary is visited that stands in transactions of
// several kinds, each time at a later one of them.
const generalVisits = 3

func visits(paths []string) (all []visit) {
	for _, p := range paths {
		n := 1
		if strings.HasPrefix(kind(p), "any ") {
			n = generalVisits
		}
		for skip := range n {
			for _, how := range slices.Sorted(maps.Keys(points)) {
				all = append(all, visit{p, 4 * skip, how})
			}
		}
	}
	return all
}

// Every boundary between two statements that the kernel sends is visited, in
// three ways. Wherever the connection ends, the system comes to rest by itself,
// nothing is lost or repeated, and publishers are told the truth.
func TestAConnectionCutAtEveryBoundaryLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	template := killedDatabase(t)
	must := slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(k string) bool { return k == unknownClaim })
	plain := slices.DeleteFunc(boundaries(t, template, append(must, "emit")), chancy)
	lost := slices.DeleteFunc(boundaries(t, template, []string{unknownClaim}, lostClaim), func(p string) bool {
		return kind(p) != unknownClaim || chancy(p)
	})
	visited := map[string]int{}
	for _, v := range slices.Concat(visits(plain), visits(lost)) {
		visited[kind(v.path)]++
	}
	tell(t, "%d boundaries, %d visits: %v", len(plain)+len(lost), len(visits(plain))+len(visits(lost)), visited)
	for k := range kinds {
		require.NotZero(t, visited[k], "no boundary to visit of: %s", k)
	}
	require.NotZero(t, visited["emit"])
	visitAll(t, template, visits(plain), *together, nil)
	visitAll(t, template, visits(lost), 1, []pgproxy.Rule{lostClaim})
}

// visitAll makes the visits, some together in one run of the scenario: those that
// are far apart in the list.
func visitAll(t *testing.T, template string, all []visit, together int, before []pgproxy.Rule) {
	groups := (len(all) + together - 1) / together
	for i := range groups {
		var group []visit
		for n := i; n < len(all); n += groups {
			group = append(group, all[n])
		}
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			for range patience {
				if group = visitOnce(t, template, group, before); len(group) == 0 {
					return
				}
			}
			t.Errorf("boundaries that did not come: %v", group)
		})
	}
}

// visitOnce runs the scenario with cuts and returns those that it did not come
// to.
func visitOnce(t *testing.T, template string, group []visit, before []pgproxy.Rule) (left []visit) {
	s := newScenario(t, template)
	for _, r := range before {
		s.proxy.Add(r)
	}
	reached := make([]<-chan struct{}, len(group))
	for i, v := range group {
		skip := v.skip
		reached[i] = s.proxy.Add(pgproxy.Rule{Point: points[v.how], Match: func(st pgproxy.Statement) bool {
			if path(st) != v.path {
				return false
			}
			skip--
			return skip < 0
		}})
	}
	s.run()
	s.judge()
	var done []visit
	for i, v := range group {
		select {
		case <-reached[i]:
			done = append(done, v)
		default:
			left = append(left, v)
		}
	}
	s.judgeUnknown(done)
	return left
}

// judgeUnknown holds publishers' unknown outcomes against where the connection
// was cut: only COMMIT has them, and it always has.
func (s *scenario) judgeUnknown(done []visit) {
	s.t.Helper()
	var commits []visit
	for _, v := range done {
		if kind(v.path) == "emit" && strings.HasSuffix(v.path, "COMMIT") {
			commits = append(commits, v)
		}
	}
	var unknown []int64
	for _, line := range s.told {
		var first int64
		if n, _ := fmt.Sscanf(line, "unknown %d", &first); n == 1 {
			unknown = append(unknown, first)
		}
	}
	require.Len(s.t, unknown, len(commits), "told %q, where COMMIT got no answer at %v", s.told, commits)
	if len(commits) == 1 && commits[0].how != "in flight" {
		require.Equal(s.t, points[commits[0].how] == pgproxy.BeforeAnswering, s.stored(unknown[0]))
	}
}
