//go:build unix

package lab

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/tidings-go/tidings/integration/delivery/process"
)

// Role is the role of a child that runs a node.
const Role = "lab"

const (
	planEnv = "TIDINGS_LAB_PLAN"
	urlEnv  = "TIDINGS_LAB_URL"
)

// StartChild starts a process that runs a node with this plan on the database,
// and waits until it is up.
func StartChild(t testing.TB, url string, p Plan) *process.Child {
	t.Helper()
	c := Launch(t, Role, url, p)
	c.Expect(1, "up")
	return c
}

// Launch starts a process for a plan in a role and does not wait for it; more are
// further environment variables.
func Launch(t testing.TB, role, url string, p Plan, more ...string) *process.Child {
	t.Helper()
	return process.Start(t, role, append(more, Env(url, p)...)...)
}

// Env tells a child its database and its plan.
func Env(url string, p Plan) []string {
	return []string{planEnv + "=" + chosen.on(p).encode(), urlEnv + "=" + url}
}

// StartChildOf is StartChild with another program than the test's own: a copy of
// it.
func StartChildOf(t testing.TB, program, url string, p Plan) *process.Child {
	t.Helper()
	c := process.StartProgram(t, program, Role, Env(url, p)...)
	c.Expect(1, "up")
	return c
}

// Tell has a child publish tasks, as Node.Put does.
func Tell(c *process.Child, from int64, orders ...string) {
	text, err := json.Marshal(tasks(from, orders))
	if err != nil {
		panic(err)
	}
	c.Tell("put %s", text)
}

// hear obeys a word of the test.
func (n *Node) hear(line string) {
	text, found := strings.CutPrefix(line, "put ")
	if !found {
		heard(line)
		return
	}
	var p Publish
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		fatal(err)
	}
	if err := n.Publish.Execute(context.Background(), p); err != nil {
		fatal(err)
	}
}

// ChildMain is main of a child: call it in TestMain where process.Role is not
// empty. It does not return. SIGTERM stops the node in order. extend adds what a
// plan cannot carry to a child.
func ChildMain(extend ...func(*Plan)) {
	n := OpenChild(extend...)
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	go func() {
		<-terminate
		if err := n.Stop(); err != nil {
			fatal(err)
		}
		os.Exit(0)
	}()
	process.Say("up")
	process.Heard(n.hear)
}

// OpenChild starts the node that this child was started for.
func OpenChild(extend ...func(*Plan)) *Node {
	var p Plan
	if err := json.Unmarshal([]byte(os.Getenv(planEnv)), &p); err != nil {
		fatal(err)
	}
	for _, f := range extend {
		f(&p)
	}
	old.Store(p.Old)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	n, err := Open(os.Getenv(urlEnv), p, log)
	if err != nil {
		fatal(err)
	}
	return n
}
