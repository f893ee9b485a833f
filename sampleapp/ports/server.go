package ports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"go.uber.org/fx"
)

// AddrVariable is the environment variable with the address of the API.
const AddrVariable = "TIDINGS_HTTP_ADDR"

// DefaultAddr is where the API is served if the variable is not set.
const DefaultAddr = "127.0.0.1:8080"

// Server serves the API.
type Server struct {
	http   *http.Server
	listen net.Listener
	ended  chan struct{}
}

// NewServer returns the server of the API. It starts and stops with the app: it
// listens once the database is there, and stops before that goes.
func NewServer(lc fx.Lifecycle, h Handlers) *Server {
	s := &Server{http: &http.Server{
		Handler: h.routes(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
	}}
	lc.Append(fx.Hook{OnStart: s.start, OnStop: s.stop})
	return s
}

// Addr returns the address it listens on, once started.
func (s *Server) Addr() string { return s.listen.Addr().String() }

func (s *Server) start(ctx context.Context) error {
	addr := os.Getenv(AddrVariable)
	if addr == "" {
		addr = DefaultAddr
	}
	listen, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("serve the API (%s): %w", AddrVariable, err)
	}
	s.listen, s.ended = listen, make(chan struct{})
	slog.InfoContext(ctx, "API is served", slog.String("addr", s.Addr()))
	go func() {
		defer close(s.ended)
		if err := s.http.Serve(listen); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("API ended", slog.Any("error", err))
		}
	}()
	return nil
}

// stop lets requests under way finish.
func (s *Server) stop(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	<-s.ended
	return nil
}
