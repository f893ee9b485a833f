package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Crash ends the server as `pg_ctl stop -m immediate`: sessions are cut, nothing
// is flushed, the next Restart recovers from the log. It returns when the server
// is gone; ErrNotRunning if it was. Transactions that had committed are there
// after Restart, also with Config.Durable off. If ctx is done while another
// state change is under way, Crash does nothing.
func (s *Server) Crash(ctx context.Context) error { return s.down(ctx, immediate) }

// Shutdown ends the server as `pg_ctl stop -m fast`, a clean stop, and keeps
// data, socket folder and port for Restart; otherwise like Crash. A shutdown
// that takes too long, or longer than ctx, becomes an immediate one.
func (s *Server) Shutdown(ctx context.Context) error { return s.down(ctx, fast) }

func (s *Server) down(ctx context.Context, mode shutdown) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if s.stopped {
		return ErrStopped
	}
	p := s.current.Load()
	if p == nil || p.exited() {
		return ErrNotRunning
	}
	p.end(ctx, mode)
	return nil
}

// Restart starts the server again on the same data, socket and port, after
// Crash, Shutdown, or a death of its own; a running one is first shut down
// (fast). It returns when the server accepts connections. ErrStopped after Stop;
// errors otherwise as of Start, and the server can be restarted again.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if s.stopped {
		return ErrStopped
	}
	ctx, cancel := withStartTimeout(ctx)
	defer cancel()
	if p := s.current.Load(); p != nil && !p.exited() {
		p.end(ctx, fast)
	}
	if err := s.launch(ctx); err != nil {
		return fmt.Errorf("pgserver: %w", err)
	}
	return nil
}

// Stop ends the server for good: fast shutdown, after ten seconds or the end of
// ctx an immediate one, after eight more kill. It then removes the temporary
// folders. Whatever happens, the server is gone when Stop returns. Stopping
// twice is fine. The error is that of ctx where ctx ended while another state
// change was under way (then nothing was stopped), else nil.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if s.stopped {
		return nil
	}
	s.stopped = true
	if p := s.current.Load(); p != nil && !p.exited() {
		p.end(ctx, fast)
	}
	s.discard()
	return nil
}

// take begins a state change. A free turn is taken even if ctx is done, so that
// Stop with an ended context stops.
func (s *Server) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("pgserver: another state change is under way: %w", ctx.Err())
	}
}

func (s *Server) give() { <-s.turn }

// discard releases what a server holds beside its process.
func (s *Server) discard() {
	s.log.close()
	s.dataLock.release()
	if s.run != nil {
		s.run.remove()
	}
}

// launchOnFreePort launches; a free port may be taken by another process before
// the server binds it, then the next one is tried.
func (s *Server) launchOnFreePort(ctx context.Context) error {
	if !s.tcp {
		s.port = defaultPort
		return s.launch(ctx)
	}
	if s.config.Port > 0 {
		return s.launch(ctx)
	}
	var err error
	for range 5 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		var failed *StartError
		if err = s.launch(ctx); err == nil || !errors.As(err, &failed) ||
			!strings.Contains(failed.LogTail, "could not create any TCP/IP sockets") {
			return err
		}
	}
	return err
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// orphans is the log's text where backends of a killed postmaster still hold its
// memory. They end when they notice its death, most of them at once.
const (
	orphans       = "is still in use"
	orphansBudget = 10 * time.Second
)

// launch starts a postmaster and waits until it accepts connections, and for the
// backends of a killed predecessor before that.
func (s *Server) launch(ctx context.Context) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	budget := time.After(orphansBudget)
	for {
		var failed *StartError
		err := s.launchOnce(ctx)
		if err == nil || !errors.As(err, &failed) || !strings.Contains(failed.LogTail, orphans) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-budget:
			return err
		case <-ticker.C:
		}
	}
}

// launchOnce is one attempt; a server that does not get ready is ended.
func (s *Server) launchOnce(ctx context.Context) error {
	s.log.mark()
	onDeath := immediate
	if s.kept() {
		onDeath = fast
	}
	p, err := spawn(spec{
		binaries: s.config.Binaries, arguments: s.arguments(), data: s.data, workDir: s.run.path,
		account: s.account, output: s.log.output(), onDeath: onDeath, guards: s.config.guards,
	})
	if err != nil {
		return err
	}
	if err := s.awaitReady(ctx, p); err != nil {
		p.end(ctx, immediate)
		failed := &StartError{Err: err, LogTail: s.log.tail()}
		if s.kept() {
			failed.LogFile = s.LogFile()
		}
		return failed
	}
	s.current.Store(p)
	return nil
}
