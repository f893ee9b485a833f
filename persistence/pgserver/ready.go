package pgserver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"github.com/lib/pq"
)

// readyInterval is the pause between connection attempts of a starting server.
const readyInterval = 5 * time.Millisecond

func withStartTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, DefaultStartTimeout)
}

// awaitReady connects until the server answers. It returns at once when the
// process exits or the error is not that of a server still starting.
func (s *Server) awaitReady(ctx context.Context, p *process) error {
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		if !starting(err) && ctx.Err() == nil {
			return err
		}
		select {
		case <-p.done:
			if p.err != nil {
				return fmt.Errorf("server exited: %w", p.err)
			}
			return errors.New("server exited with status 0")
		case <-ctx.Done():
			return fmt.Errorf("server not ready: %w (last connection error: %w)", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

// ping asks the server which data folder it serves: over TCP another server may
// answer at the port.
func (s *Server) ping(ctx context.Context) error {
	var dir string
	err := s.onServer(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT current_setting('data_directory')`).Scan(&dir)
	})
	if err != nil {
		return err
	}
	if dir = filepath.FromSlash(dir); filepath.Clean(dir) != filepath.Clean(s.data) {
		return fmt.Errorf("the server at port %d is another one, with data folder %s", s.port, dir)
	}
	return nil
}

// starting tells whether an error is one that a starting server gives: no
// socket yet, or "the database system is starting up".
func starting(err error) bool {
	var network net.Error
	var server *pq.Error
	switch {
	case errors.As(err, &server):
		return server.Code == "57P03"
	case errors.As(err, &network):
		return true
	default: // cut while connecting
		return errors.Is(err, io.EOF) || errors.Is(err, driver.ErrBadConn)
	}
}
