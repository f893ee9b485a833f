package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/sampleapp/adapters"
	"github.com/tidings-go/tidings/sampleapp/app"
)

const workerCommand = "demo-worker"

// WorkerCommand returns the hidden command of the demo's child processes: a node
// of the company without office and HTTP, which ends when its input does.
func WorkerCommand() kernel.Option {
	return kernel.Command(&cobra.Command{
		Use: workerCommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithCancel(c.Context())
			defer cancel()
			go func() { // the parent holds the other end, and lets go even if it is killed
				_, _ = io.Copy(io.Discard, os.Stdin)
				cancel()
			}()
			serve := []string{"serve", "--admin-addr", "off"}
			if code := kernel.Run(ctx, serve, c.OutOrStdout(), c.ErrOrStderr(), app.Module, adapters.Module); code != kernel.ExitOK {
				return fmt.Errorf("worker ended with code %d", code)
			}
			return nil
		},
	})
}

// worker is a child process that delivers.
type worker struct {
	name string
	cmd  *exec.Cmd
	life io.Closer // closing it ends the worker
	log  bytes.Buffer
	done chan struct{} // closed when the process has ended
}

// startWorker starts a worker on the database. Its leases and beats are short, so
// that its death is noticed within seconds instead of a minute.
func startWorker(name, database, mail string) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	w := &worker{name: name, cmd: exec.Command(self, workerCommand), done: make(chan struct{})}
	w.cmd.Env = append(
		environment(),
		"DATABASE_URL="+database, adapters.MailURLVariable+"="+mail, "TIDINGS_NODE="+name, "TIDINGS_WORKERS=4",
		"TIDINGS_LEASE=1s", "TIDINGS_MARGIN=500ms", "TIDINGS_HEARTBEAT=500ms", "TIDINGS_MAINTENANCE=100ms", "TIDINGS_POLL=50ms",
	)
	w.cmd.Stdout, w.cmd.Stderr = &w.log, &w.log
	if w.life, err = w.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	go func() {
		defer close(w.done)
		_ = w.cmd.Wait() // its outcome is in ProcessState
	}()
	return w, nil
}

// environment is this process's without what would configure a worker.
func environment() []string {
	var kept []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TIDINGS_") && !strings.HasPrefix(v, "DATABASE_URL=") {
			kept = append(kept, v)
		}
	}
	return kept
}

// kill ends the worker as kill -9 does and says how it ended.
func (w *worker) kill() string {
	_ = w.cmd.Process.Kill()
	<-w.done
	return w.cmd.ProcessState.String()
}

// stop lets the worker finish what it runs, but not for long.
func (w *worker) stop() {
	_ = w.life.Close()
	select {
	case <-w.done:
	case <-time.After(5 * time.Second):
		w.kill()
	}
}

// ended returns an error with the worker's log if it has ended by itself.
func (w *worker) ended() error {
	select {
	case <-w.done:
		return fmt.Errorf("%s ended (%s): %s", w.name, w.cmd.ProcessState, w.log.String())
	default:
		return nil
	}
}
