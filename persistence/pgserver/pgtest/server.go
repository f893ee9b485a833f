package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/tidings-go/tidings/persistence/pgserver"
)

const (
	maxConnections = "300"
	startTimeout   = 2 * time.Minute // of a loaded machine's first start, with initdb
	stopTimeout    = 10 * time.Second
)

// shared is the test binary's server.
var shared struct {
	sync.Mutex
	server  *pgserver.Server
	err     error // of a start that failed: all tests get it, none tries again
	ended   bool
	created map[string]*template
	count   int // databases made
}

// Runner runs tests as *testing.M and then stops the shared server; it is what
// goleak.VerifyTestMain takes.
type Runner struct{ M *testing.M }

// Run runs the tests, stops the shared server if one was started, and returns
// the exit code.
func (r Runner) Run() int {
	code := r.M.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	return code
}

// Main is for TestMain: os.Exit(pgtest.Main(m)).
func Main(m *testing.M) int { return Runner{M: m}.Run() }

func stop() error {
	shared.Lock()
	defer shared.Unlock()
	shared.ended = true
	if shared.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return shared.server.Stop(ctx)
}

// Server returns the test binary's shared server and starts it on first use. It
// fails the test if there is none to start. Safe for parallel tests. Tests must
// not crash, restart or stop it.
func Server(t testing.TB) *pgserver.Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.ended {
		t.Fatal("pgtest: the shared server was stopped: Main has ended")
	}
	if shared.server == nil && shared.err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		shared.server, shared.err = pgserver.Start(ctx, pgserver.Config{
			TempDir:  pgserver.MemoryDir(),
			Settings: map[string]string{"max_connections": maxConnections},
		})
	}
	if shared.err != nil {
		t.Fatalf("pgtest: this test needs PostgreSQL: %v", shared.err)
	}
	return shared.server
}
