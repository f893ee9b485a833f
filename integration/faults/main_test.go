//go:build unix

package faults_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidings-go/tidings/integration/delivery/process"
	"github.com/tidings-go/tidings/integration/faults/app"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// How long a run is. The defaults are those of continuous integration; make soak
// sets others.
var (
	seedFlag = flag.Uint64("faults.seed", 0, "the seed of a run to repeat; 0 takes a new one")
	kills    = flag.Int("faults.kills", 15, "how often the soak kills a process")
	together = flag.Int("faults.together", 4, "cuts of the sweep in one run of its scenario")
	crashes  = flag.Int("faults.crashes", 2, "how often the server crashes")
	rounds   = flag.Int("faults.rounds", 10, "rounds of pauses and of ended backends")
	backlog  = flag.Int("faults.backlog", 50_000, "jobs of the backlog")
	drain    = flag.Int("faults.drain", 2_000, "how many of them are delivered")
	failing  = flag.Int("faults.failing", 300, "jobs that fail at once")
	snapshot = flag.Duration("faults.snapshot", 15*time.Second, "how long a snapshot is held under load")
)

func TestMain(m *testing.M) {
	if process.Role() != "" {
		app.Main()
	}
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		// Half of the tests wait: for leases, for other processes. More at once
		// would take each other's time and need more of it.
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	}
	if *seedFlag == 0 {
		*seedFlag = rand.Uint64N(1 << 32)
	}
	goleak.VerifyTestMain(runner{pgtest.Runner{M: m}})
}

// dice returns the random choices of a test and prints how to repeat them.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	t.Logf("repeat with: go test ./integration/faults -run '^%s$' -args %s", t.Name(), repeat())
	return rand.New(rand.NewPCG(*seedFlag, 0))
}
