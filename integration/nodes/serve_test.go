//go:build unix

package nodes_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/kernel"
)

// server is a program's command serve, run inside the test.
type server struct {
	t      *testing.T
	addr   chan string
	base   string
	client http.Client
	stop   context.CancelFunc
	ended  chan int
	errors bytes.Buffer // to be read once it has ended
}

// addresses hands on the address that the admin endpoint logs.
type addresses struct {
	slog.Handler
	to chan<- string
}

func (a addresses) Enabled(context.Context, slog.Level) bool { return true }

func (a addresses) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "admin endpoint listens" {
		r.Attrs(func(at slog.Attr) bool {
			a.to <- at.Value.String()
			return true
		})
	}
	if r.Level < slog.LevelWarn {
		return nil
	}
	return a.Handler.Handle(ctx, r)
}

// serve runs the program on a database, with the pool of the app.
func serve(t *testing.T, url string, p lab.Plan) *server {
	t.Helper()
	pool, err := sqlx.Open("postgres", url)
	require.NoError(t, err)
	pool.SetMaxOpenConns(20)
	pool.SetMaxIdleConns(20)
	s := &server{t: t, addr: make(chan string, 1), ended: make(chan int, 1)}
	log := slog.New(addresses{slog.NewTextHandler(t.Output(), nil), s.addr})
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		s.ended <- kernel.Run(ctx, []string{"serve", "--admin-addr", "127.0.0.1:0"}, io.Discard, &s.errors,
			p.Module(), kernel.Database(pool), kernel.Logger(log), kernel.Delivery(func(c *delivery.Config) { *c = p.Delivery }))
	}()
	t.Cleanup(func() {
		s.end()
		_ = pool.Close()
	})
	return s
}

// end stops it and returns its exit code.
func (s *server) end() int {
	s.t.Helper()
	s.stop()
	select {
	case code := <-s.ended:
		s.ended <- code
		s.client.CloseIdleConnections()
		return code
	case <-time.After(lab.Deadline):
		s.t.Fatal("serve did not end")
		return 0
	}
}

// readyz asks for the readiness.
func (s *server) readyz() (code int, text string) {
	if s.base == "" {
		select {
		case addr := <-s.addr:
			s.base = "http://" + addr
		default:
			return 0, "not up"
		}
	}
	answer, err := s.client.Get(s.base + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	return answer.StatusCode, string(body)
}

// awaitReady waits for the readiness to be as asked: 200, or 503 with a text.
func (s *server) awaitReady(code int, part string) {
	s.t.Helper()
	await(s.t, "readiness "+part, func() bool {
		got, text := s.readyz()
		return got == code && strings.Contains(text, part)
	})
}
