//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

const page = "../../docs/operations.md"

// incident is one run of the story.
type incident struct {
	t      *testing.T
	binary string
	env    []string
	db     *sqlx.DB
	admin  string
	said   map[string]string // what was seen, by its name in the page
}

// TestTheIncidentOfTheOperationsPage plays what docs/operations.md tells and
// compares what it saw with what the page shows, numbers and times aside. With
// TIDINGS_WRITE_DOCS=1 it writes what it saw into the page.
func TestTheIncidentOfTheOperationsPage(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			http.Error(w, "no", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(remote.Close)
	i := prepare(t, remote.URL)
	log := i.serve()

	i.run("place", "50")
	i.until("jobs of before are done", `NOT EXISTS (SELECT FROM tidings.jobs WHERE state <> 'COMPLETED')`)
	down.Store(true)
	i.run("place", "300")
	i.until("all mails wait for a retry", `(SELECT count(*) = 300 FROM tidings.delivery WHERE state IN ('WAITING', 'CLAIMED') AND attempts > 5)`)
	i.untilMetric(`tidings_delivery_jobs{listener="shop.SendMail",state="WAITING"}`, func(v string) bool { return len(v) == 3 })
	i.said["metrics down"] = i.metrics()
	i.said["doctor down"] = i.run("doctor")
	i.said["nodes down"] = i.run("nodes")
	i.said["view down"] = i.table(`SELECT listener, count(*), max(attempts) AS attempts, max(left(last_error, 110)) AS last_error
		FROM tidings.jobs WHERE state = 'WAITING' GROUP BY listener`)
	_, status := i.get("/readyz")
	require.Equal(t, http.StatusOK, status, "a remote that is down is no reason to take the process out of work")

	down.Store(false)
	i.until("the backlog is gone", `NOT EXISTS (SELECT FROM tidings.jobs WHERE state <> 'COMPLETED')`)
	i.untilMetric(`tidings_delivery_jobs{listener="shop.SendMail",state="WAITING"}`, func(v string) bool { return v == "0" })
	i.said["metrics up"] = i.metrics()
	i.said["doctor up"] = i.run("doctor")
	require.LessOrEqual(t, strings.Count(log.String(), "\n"), 10, "an outage of a remote is no reason to fill the log: %s", log)
	i.compare()
}

func prepare(t *testing.T, remote string) *incident {
	t.Helper()
	server, err := pgserver.Start(t.Context(), pgserver.Config{Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop(t.Context()) })
	require.NoError(t, server.CreateDatabase(t.Context(), "shop", ""))
	url := server.URL("shop")
	db, err := sqlx.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	ddl, err := kernel.DDL(shop())
	require.NoError(t, err)
	for _, statement := range ddl {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	binary := filepath.Join(t.TempDir(), "shop")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	env := append(os.Environ(), "DATABASE_URL="+url, "REMOTE_URL="+remote, "TIDINGS_ADMIN_ADDR=127.0.0.1:0", "TIDINGS_NODE=worker-1", "TIDINGS_WORKERS=8")
	return &incident{t: t, binary: binary, env: env, db: db, said: map[string]string{}}
}

// serve starts the app and waits for its admin endpoint. It returns what the app
// logs from then on.
func (i *incident) serve() *transcript {
	i.t.Helper()
	app := exec.Command(i.binary, "serve")
	app.Env = i.env
	stderr, err := app.StderrPipe()
	require.NoError(i.t, err)
	require.NoError(i.t, app.Start())
	log, done := &transcript{}, make(chan struct{})
	lines := bufio.NewReader(stderr)
	for i.admin == "" {
		line, err := lines.ReadString('\n')
		require.NoError(i.t, err)
		if _, address, ok := strings.Cut(strings.TrimSpace(line), "admin endpoint listens address="); ok {
			i.admin = "http://" + address
		}
	}
	go func() {
		defer close(done)
		_, _ = io.Copy(log, lines)
	}()
	i.t.Cleanup(func() {
		_ = app.Process.Signal(os.Interrupt)
		<-done
		_ = app.Wait()
	})
	return log
}

// transcript collects what an app writes while the test reads it.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// run runs a command of the app and returns what it wrote.
func (i *incident) run(args ...string) string {
	i.t.Helper()
	c := exec.CommandContext(i.t.Context(), i.binary, args...)
	c.Env = i.env
	out, err := c.CombinedOutput()
	require.NoError(i.t, err, "%s", out)
	return strings.TrimRight(string(out), "\n")
}

func (i *incident) until(what, condition string) {
	i.t.Helper()
	require.Eventually(i.t, func() bool {
		var met bool
		return i.db.Get(&met, `SELECT `+condition) == nil && met
	}, 2*time.Minute, 50*time.Millisecond, what)
}

func (i *incident) get(path string) (body string, status int) {
	i.t.Helper()
	request, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, i.admin+path, nil)
	require.NoError(i.t, err)
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	require.NoError(i.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(i.t, err)
	return string(text), answer.StatusCode
}

func (i *incident) untilMetric(series string, is func(value string) bool) {
	i.t.Helper()
	require.Eventually(i.t, func() bool {
		text, _ := i.get("/metrics")
		_, rest, ok := strings.Cut(text, "\n"+series+" ")
		value, _, _ := strings.Cut(rest, "\n")
		return ok && is(value)
	}, time.Minute, 100*time.Millisecond, series)
}

// metrics is what `curl … | grep SendMail` shows of the gauges and attempts.
func (i *incident) metrics() string {
	text, _ := i.get("/metrics")
	var lines []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"shop.SendMail"`) && !strings.Contains(line, "_bucket") && !strings.Contains(line, "_sum") && !strings.Contains(line, "_count") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// table shows the result of a query as psql would.
func (i *incident) table(query string) string {
	i.t.Helper()
	rows, err := i.db.Queryx(query)
	require.NoError(i.t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(i.t, err)
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for rows.Next() {
		values, err := rows.SliceScan()
		require.NoError(i.t, err)
		for n, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			fmt.Fprint(w, v, map[bool]string{true: "\n", false: "\t"}[n == len(values)-1])
		}
	}
	require.NoError(i.t, rows.Err())
	require.NoError(i.t, w.Flush())
	return strings.TrimRight(out.String(), "\n")
}

var (
	shown  = regexp.MustCompile("(?s)<!-- incident: ([a-z ]+) -->\n```text\n(.*?)```")
	spans  = regexp.MustCompile(`\b(\d+(\.\d+)?(h|m|s|ms|µs|ns))+\b`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`)
	hashes = regexp.MustCompile(`\b[0-9a-f]{8}\b`)
	number = regexp.MustCompile(`\d+(\.\d+)?(e[+-]\d+)?`)
	places = regexp.MustCompile(` +`)
	server = regexp.MustCompile(`PostgreSQL .*`)
	sizes  = regexp.MustCompile(`\b(KiB|MiB)\b`)
)

// shape is text without what differs from run to run.
func shape(text string) string {
	for _, r := range []*regexp.Regexp{times, hashes, spans, number} {
		text = r.ReplaceAllString(text, "0")
	}
	text = server.ReplaceAllString(text, "PostgreSQL")
	text = sizes.ReplaceAllString(text, "B")
	text = strings.ReplaceAll(text, "never vacuumed yet", "last vacuumed 0 ago")
	return places.ReplaceAllString(text, " ")
}

func (i *incident) compare() {
	i.t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(i.t, err)
	if os.Getenv("TIDINGS_WRITE_DOCS") != "" {
		text = shown.ReplaceAllFunc(text, func(block []byte) []byte {
			name := string(shown.FindSubmatch(block)[1])
			return fmt.Appendf(nil, "<!-- incident: %s -->\n```text\n%s\n```", name, i.said[name])
		})
		require.NoError(i.t, os.WriteFile(page, text, 0o644))
	}
	blocks := shown.FindAllSubmatch(text, -1)
	require.Equal(i.t, len(i.said), len(blocks), "the page shows all of it")
	for _, b := range blocks {
		require.Equal(i.t, shape(i.said[string(b[1])]+"\n"), shape(string(b[2])), "docs/operations.md shows another %q: run this test with TIDINGS_WRITE_DOCS=1", b[1])
	}
}
