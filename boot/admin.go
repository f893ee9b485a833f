package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Admin is the HTTP endpoint for operators: /healthz, /readyz and /metrics. It
// has no authentication: keep its address private.
type Admin struct {
	addr    string
	handler http.Handler
	log     *slog.Logger

	server *http.Server // of the current run
	done   chan struct{}
	bound  net.Addr
}

// NewAdmin returns an endpoint on addr that is not listening yet. ready says why
// the process cannot do its work, or nil.
func NewAdmin(addr string, gatherer prometheus.Gatherer, ready func(context.Context) error, log *slog.Logger) *Admin {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := ready(ctx); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	return &Admin{addr: addr, log: log, handler: mux}
}

// Start listens and serves.
func (a *Admin) Start(ctx context.Context) error {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", a.addr)
	if err != nil {
		return fmt.Errorf("admin endpoint: %w", err)
	}
	server := &http.Server{Handler: a.handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	a.bound, a.server, a.done = l.Addr(), server, done
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.log.ErrorContext(context.WithoutCancel(ctx), "admin endpoint ended", slog.Any("error", err))
		}
	}()
	a.log.InfoContext(ctx, "admin endpoint listens", slog.String("address", a.bound.String()))
	return nil
}

// Addr returns the address it listens on, once started.
func (a *Admin) Addr() net.Addr { return a.bound }

// Stop ends the endpoint; requests under way may finish until ctx is done.
func (a *Admin) Stop(ctx context.Context) error {
	if a.done == nil {
		return nil
	}
	err := a.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, a.server.Close())
	}
	<-a.done
	a.done = nil
	return err
}
