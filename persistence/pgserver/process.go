package pgserver

import (
	"context"
	"io"
	"os/exec"
	"runtime"
	"time"
)

// shutdown is a way to end the server, as pg_ctl's modes.
type shutdown int

const (
	fast      shutdown = iota // end sessions, write a checkpoint
	immediate                 // end at once; the next start recovers
	kill                      // SIGKILL of the postmaster: last resort
)

// spec is what a server process is started from.
type spec struct {
	binaries  Binaries
	arguments []string
	data      string // PGDATA; also in arguments, by which the watcher knows the process
	workDir   string // a folder that the server's user may enter
	account   *account
	output    io.Writer
	onDeath   shutdown // how the server ends when the parent dies
	guards    guards
}

// process is one run of the postmaster.
type process struct {
	cmd  *exec.Cmd
	bin  Binaries
	done chan struct{} // closed when the process is reaped
	err  error         // of Wait; read after done
}

// spawn starts the postmaster together with what ends it should this process
// die. It does not wait for readiness.
func spawn(sp spec) (*process, error) {
	p := &process{bin: sp.binaries, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(sp, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run holds its thread from fork to the end of the server: Linux sends the
// parent-death signal when the forking thread dies, not the process.
func (p *process) run(sp spec, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd, release, err := startGuarded(sp)
	if err != nil {
		started <- err
		return
	}
	p.cmd = cmd
	started <- nil
	p.err = cmd.Wait()
	release()
	close(p.done)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Budgets of the steps of end. The postmaster itself kills stuck backends five
// seconds after an immediate shutdown began.
const (
	fastBudget      = 10 * time.Second
	immediateBudget = 8 * time.Second
)

// end stops the process, beginning with mode, and returns when it is gone. When
// a step's budget or ctx is over, the next harder step follows; so end always
// ends. It reports the step that worked.
func (p *process) end(ctx context.Context, mode shutdown) shutdown {
	for ; ; mode++ {
		if mode >= kill {
			_ = p.cmd.Process.Kill() // an error means that it is gone
			<-p.done
			return kill
		}
		budget, done := fastBudget, ctx.Done()
		if mode == immediate {
			budget, done = immediateBudget, nil // bounded by itself: killing is worse
		}
		_ = p.signal(mode) // an error means that it is gone, or the next step follows
		timer := time.NewTimer(budget)
		select {
		case <-p.done:
			timer.Stop()
			return mode
		case <-timer.C:
		case <-done:
			timer.Stop()
		}
	}
}
