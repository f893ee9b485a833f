//go:build unix

package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/tidings-go/tidings/integration/delivery/oracle"
	"github.com/tidings-go/tidings/integration/drivers/bouncer"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence/pgserver"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// Base is a database with the lab's tables, and the test's own connection to it.
type Base struct {
	// URL is how nodes reach the database: by the way of the run, see wayEnv.
	URL string
	// DB reaches it directly.
	DB     *sqlx.DB
	t      testing.TB
	server *pgserver.Server
}

// NewBase makes a fresh database on the shared server.
func NewBase(t testing.TB, p Plan) *Base {
	t.Helper()
	return Attach(t, pgtest.Database(t, DDL(t, p))).on(pgtest.Server(t))
}

// on has nodes reach the base, which is on this server, by the way of the run.
func (b *Base) on(s *pgserver.Server) *Base {
	b.server = s
	b.URL = b.Way(b.URL)
	return b
}

// NewServer starts a server of the test's own, which it may crash and restart,
// with a database of the lab. The server listens on TCP as well.
func NewServer(t testing.TB, p Plan, c pgserver.Config) (*pgserver.Server, *Base) {
	t.Helper()
	c.Port = -1
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() && c.TempDir == "" {
		c.TempDir = "/dev/shm"
	}
	s, err := pgserver.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	b := Attach(t, s.URL("postgres"))
	b.Exec(DDL(t, p))
	return s, b.on(s)
}

// Way returns how nodes reach the base's server at direct, one of its own URLs, by
// the way of the run: with a PgBouncer between, it is that which uses direct.
func (b *Base) Way(direct string) string {
	b.t.Helper()
	if !chosen.bouncer {
		return direct
	}
	return bouncer.Start(b.t, b.server, direct, bouncerPool)
}

// AwaitReached waits until nodes reach the database again after its server was
// down: for a second a PgBouncer does not try, and refuses those who come.
func (b *Base) AwaitReached() {
	b.t.Helper()
	way, err := sqlx.Open("postgres", b.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	defer way.Close()
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	for err := way.PingContext(ctx); err != nil; err = way.PingContext(ctx) {
		select {
		case <-ctx.Done():
			b.t.Fatalf("not reached: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// bouncerPool is how many connections to the server a PgBouncer has for a base:
// fewer than the nodes of a test together ask for, and enough that those in which a
// test holds a listener, a lock or a statement leave some to the others.
const bouncerPool = 20

// Attach is the test's own connection to a database that has the lab's tables.
// Nodes reach it directly, too.
func Attach(t testing.TB, url string) *Base {
	t.Helper()
	db, err := sqlx.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &Base{URL: url, DB: db, t: t}
}

// DDL is what makes the lab's tables, as the app's own command prints it.
func DDL(t testing.TB, p Plan) string {
	t.Helper()
	var out, problems bytes.Buffer
	if code := kernel.Run(t.Context(), []string{"schema", "show"}, &out, &problems, p.Module()); code != 0 {
		t.Fatalf("schema show: %s", problems.String())
	}
	return out.String() + oracle.DDL
}

// Exec runs a statement of the test.
func (b *Base) Exec(query string, args ...any) {
	b.t.Helper()
	if _, err := b.DB.Exec(query, args...); err != nil {
		b.t.Fatalf("%v: %s", err, query)
	}
}

// Int reads a number.
func (b *Base) Int(query string, args ...any) int {
	b.t.Helper()
	var n int
	if err := b.DB.Get(&n, query, args...); err != nil {
		b.t.Fatalf("%v: %s", err, query)
	}
	return n
}

// Text reads a text.
func (b *Base) Text(query string, args ...any) string {
	b.t.Helper()
	var s string
	if err := b.DB.Get(&s, query, args...); err != nil {
		b.t.Fatalf("%v: %s", err, query)
	}
	return s
}

// Await waits until a query answers true.
func (b *Base) Await(query string, args ...any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	var last error
	for {
		var yes bool
		if last = b.DB.GetContext(ctx, &yes, "SELECT coalesce(("+query+"), false)", args...); last == nil && yes {
			return
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("never came true: %s %v (%v)\n%s", query, args, last, b.Describe())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Deadline is how long Await waits.
const Deadline = 4 * time.Minute

// settled says that every job has come to an end.
const settled = `SELECT NOT EXISTS (SELECT FROM tidings.delivery WHERE state IN ('READY', 'WAITING', 'CLAIMED'))`

// AwaitSettled waits until every job has come to an end.
func (b *Base) AwaitSettled() {
	b.t.Helper()
	b.Await(settled)
}

// SettledOr waits until every job has come to an end and returns true, or until
// the channel is closed and returns false.
func (b *Base) SettledOr(over <-chan struct{}) bool {
	b.t.Helper()
	deadline := time.After(Deadline)
	for {
		var yes bool
		if err := b.DB.Get(&yes, settled); err == nil && yes {
			return true
		}
		select {
		case <-over:
			return false
		case <-deadline:
			b.t.Fatalf("jobs did not come to an end\n%s", b.Describe())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Judge fails the test with what the oracle finds wrong.
func (b *Base) Judge(s oracle.Spec) {
	b.t.Helper()
	b.Exec(`ANALYZE`) // without statistics the oracle's joins are slow
	v, err := oracle.Judge(context.Background(), b.DB, s)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, wrong := range v {
		b.t.Errorf("oracle: %s", wrong)
	}
	if len(v) > 0 {
		b.t.Log(b.Describe())
	}
}

// Describe describes unusual jobs and the history, for a failed test.
func (b *Base) Describe() string {
	var lines []string
	err := b.DB.Select(&lines, `(SELECT format('job %s of %s: %s, attempts %s, losses %s, suspect %s, by %s: %s', id, listener, state, attempts, lease_losses, suspect, claimed_by, last_error)
FROM tidings.jobs WHERE stored_state <> 'COMPLETED' OR attempts <> 1 ORDER BY id LIMIT 20)
UNION ALL (SELECT format('history of job %s: %s, attempt %s, late %s, %s: %s', delivery_id, kind, attempt, late, failure, error)
FROM tidings.delivery_history ORDER BY id LIMIT 20)`)
	return fmt.Sprintf("%.200q %v", lines, err)
}
