package kernel_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/usecase"
)

type (
	// Report is an event that a deferred listener sends on a channel.
	Report  struct{ Text string }
	File    struct{ Text string }
	fileDep struct{ Report events.Emitter[Report] }
)

// desk is an app's module with one action, one event and one deferred listener,
// in a namespace of its own.
func desk(namespace string, delivered chan<- string) fx.Option {
	return kernel.Module(namespace,
		events.Declare[Report](namespace+".Report", events.Recorded()),
		usecase.DeclareAction(namespace+".File", func(ctx context.Context, self access.Self[File, fileDep]) error {
			return self.Deps.Report.Emit(ctx, Report(self.Input))
		}),
		events.Deferred(namespace+".Deliver", func(ctx context.Context, self events.Self[Report, none]) error {
			select {
			case delivered <- self.Event.Text:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, events.MaxAttempts(1000), events.Backoff(time.Millisecond, time.Millisecond)),
	)
}

// quick has a node deliver with two workers and poll often.
func quick() kernel.Option {
	return kernel.Delivery(func(c *delivery.Config) {
		c.Workers, c.Poll, c.Maintenance, c.Heartbeat = 2, 20*time.Millisecond, 20*time.Millisecond, 500*time.Millisecond
	})
}

// database makes a database with the tables of an app and returns a pool on it.
func database(t *testing.T, opts ...fx.Option) *sqlx.DB {
	t.Helper()
	ddl, err := kernel.DDL(opts...)
	require.NoError(t, err)
	return pool(t, pgtest.Database(t, ddl...))
}

func pool(t *testing.T, url string) *sqlx.DB {
	t.Helper()
	db, err := sqlx.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func databaseURL(t *testing.T, db *sqlx.DB) (name string) {
	t.Helper()
	require.NoError(t, db.Get(&name, `SELECT current_database()`))
	return pgtest.Server(t).URL(name)
}

func count(t *testing.T, db *sqlx.DB, from string) (n int) {
	t.Helper()
	require.NoError(t, db.Get(&n, `SELECT count(*) FROM `+from))
	return n
}

// watched keeps what an app logs.
type watched struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (w *watched) logger() kernel.Option {
	return kernel.Logger(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo})))
}

// adminURL returns where the admin endpoint listens, as the log says.
func (w *watched) adminURL(t *testing.T) string {
	t.Helper()
	_, rest, found := strings.Cut(w.String(), `msg="admin endpoint listens" address=`)
	require.True(t, found, w.String())
	address, _, _ := strings.Cut(rest, "\n")
	return "http://" + address
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// age returns the queue age of a listener as /metrics says.
func age(t *testing.T, admin, listener string) (seconds float64) {
	t.Helper()
	status, body := get(t, admin+"/metrics")
	require.Equal(t, http.StatusOK, status, body)
	_, rest, found := strings.Cut(body, fmt.Sprintf("tidings_delivery_queue_age_seconds{listener=%q} ", listener))
	require.True(t, found, body)
	_, err := fmt.Sscan(rest, &seconds)
	require.NoError(t, err)
	return seconds
}

// app is an fx app of a test.
type app struct {
	*fx.App
	t    *testing.T
	file usecase.Action[File]
}

func newApp(t *testing.T, opts ...fx.Option) *app {
	t.Helper()
	a := &app{t: t}
	a.App = fx.New(append(opts, fx.Populate(&a.file), fx.NopLogger)...)
	require.NoError(t, a.Err())
	t.Cleanup(func() { _ = a.Stop(context.Background()) })
	return a
}

func (a *app) start() {
	a.t.Helper()
	require.NoError(a.t, a.Start(a.t.Context()))
}

func (a *app) stop() {
	a.t.Helper()
	require.NoError(a.t, a.Stop(a.t.Context()))
}

func (a *app) emit(text string) {
	a.t.Helper()
	require.NoError(a.t, a.file.Execute(a.t.Context(), File{text}))
}

type (
	// Find is a usecase that counts the stored reports of an app in test.dev.
	Find   struct{}
	reader struct{ find usecase.Usecase[Find, int] }
)

func (r *reader) count(ctx context.Context, to *int) (err error) {
	*to, err = r.find.Execute(ctx, Find{})
	return err
}

func readerModule() fx.Option {
	return fx.Options(usecase.Declare("test.dev.Find", func(ctx context.Context, self access.Self[Find, none]) (n int, err error) {
		err = self.Tx.GetContext(ctx, &n, `SELECT count(*) FROM "test.dev"."@event:Report"`)
		return n, err
	}, usecase.ReadOnly()), fx.Provide(func(find usecase.Usecase[Find, int]) *reader { return &reader{find} }))
}
