//go:build unix

// Package process runs children of a test: the test's own binary, started again
// in a role. They talk in lines: the child's standard output to the test, the
// test's words to the child's standard input. A child whose test has gone sees
// the end of its input and must end.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// roleEnv names the role of a child.
const roleEnv = "TIDINGS_TEST_ROLE"

// Deadline is how long a test waits for anything a child should do.
const Deadline = 4 * time.Minute

// Role is what this process was started to be; empty in the test itself.
func Role() string { return os.Getenv(roleEnv) }

// Child is a process of the test.
type Child struct {
	t     testing.TB
	cmd   *exec.Cmd
	input io.WriteCloser
	ended chan struct{}

	mu     sync.Mutex
	lines  []string
	change chan struct{} // closed when there is a new line
	ending string
}

// Start starts a child in a role, with further environment variables. It is
// killed when the test ends.
func Start(t testing.TB, role string, env ...string) *Child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return StartProgram(t, self, role, env...)
}

// StartProgram is Start with another program than the test's own: a copy of it.
func StartProgram(t testing.TB, program, role string, env ...string) *Child {
	t.Helper()
	var err error
	c := &Child{t: t, cmd: exec.Command(program), ended: make(chan struct{}), change: make(chan struct{})}
	c.cmd.Env = append(append(os.Environ(), roleEnv+"="+role), env...)
	c.cmd.Stderr = t.Output()
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	go c.read(out)
	return c
}

// read collects the child's lines and waits for its end.
func (c *Child) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		c.mu.Lock()
		c.lines = append(c.lines, lines.Text())
		close(c.change)
		c.change = make(chan struct{})
		c.mu.Unlock()
	}
	err := c.cmd.Wait()
	c.mu.Lock()
	c.ending = "exit status 0"
	if err != nil {
		c.ending = err.Error()
	}
	c.mu.Unlock()
	close(c.ended)
}

// PID is the child's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Lines returns what the child has said that begins with prefix.
func (c *Child) Lines(prefix string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []string
	for _, l := range c.lines {
		if strings.HasPrefix(l, prefix) {
			found = append(found, l)
		}
	}
	return found
}

// Expect waits until the child has said n lines that begin with prefix and
// returns them.
func (c *Child) Expect(n int, prefix string) []string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	for {
		c.mu.Lock()
		change := c.change
		c.mu.Unlock()
		if found := c.Lines(prefix); len(found) >= n {
			return found
		}
		select {
		case <-change:
		case <-c.ended:
			if found := c.Lines(prefix); len(found) >= n {
				return found
			}
			c.t.Fatalf("child %d ended (%s) before it said %d × %q; it said %q", c.PID(), c.ending, n, prefix, c.Lines(""))
		case <-ctx.Done():
			c.t.Fatalf("child %d did not say %d × %q; it said %q", c.PID(), n, prefix, c.Lines(""))
		}
	}
}

// Tell writes a line to the child's standard input.
func (c *Child) Tell(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.input, format+"\n", args...); err != nil {
		c.t.Fatalf("tell child %d: %v", c.PID(), err)
	}
}

// Pause stops the child where it is (SIGSTOP).
func (c *Child) Pause() {
	c.t.Helper()
	c.signal(syscall.SIGSTOP)
	c.awaitStopped()
}

// Resume lets a paused child go on (SIGCONT).
func (c *Child) Resume() {
	c.t.Helper()
	c.signal(syscall.SIGCONT)
}

// Terminate asks the child to end (SIGTERM).
func (c *Child) Terminate() {
	c.t.Helper()
	c.signal(syscall.SIGTERM)
}

func (c *Child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("%v to child %d: %v", s, c.PID(), err)
	}
}

// Kill ends the child at once (SIGKILL) and waits until it is gone. A child that
// has ended is fine.
func (c *Child) Kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Errorf("kill child %d: %v", c.PID(), err)
	}
	<-c.ended
	_ = c.input.Close()
}

// Ended is closed when the child has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Wait waits for the child's end and returns how it ended, such as "exit status
// 0" or "signal: killed".
func (c *Child) Wait() string {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(Deadline):
		c.t.Fatalf("child %d did not end", c.PID())
	}
	return c.ending
}

// Say writes a line from a child to its test, in one piece.
func Say(format string, args ...any) {
	_, _ = os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n")
}

// Heard calls f with every line that the test tells this child, and ends the
// process when the test has gone.
func Heard(f func(line string)) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		f(in.Text())
	}
	os.Exit(99)
}
