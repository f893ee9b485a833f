//go:build unix

package faults_test

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// figures are the counts of a run. Attempts are those that jobs count; of Losses,
// leases, some were of jobs that had not started.
type figures struct {
	Kills, Events, Transactions, Unknown, Jobs, Effects, Attempts, Failures, Losses, Suspects, Late, Failed int
}

func (f figures) String() string {
	return fmt.Sprintf("%d kills, %d events in %d transactions told (%d unknown), %d jobs, %d effects, %d attempts, "+
		"%d failed attempts (%d late), %d leases lost by %d jobs, %d jobs FAILED",
		f.Kills, f.Events, f.Transactions, f.Unknown, f.Jobs, f.Effects, f.Attempts, f.Failures, f.Late, f.Losses, f.Suspects, f.Failed)
}

func (f figures) plus(o figures) figures {
	return figures{
		f.Kills + o.Kills, f.Events + o.Events, f.Transactions + o.Transactions, f.Unknown + o.Unknown, f.Jobs + o.Jobs,
		f.Effects + o.Effects, f.Attempts + o.Attempts, f.Failures + o.Failures, f.Losses + o.Losses,
		f.Suspects + o.Suspects, f.Late + o.Late, f.Failed + o.Failed,
	}
}

const counts = `SELECT (SELECT count(*) FROM publication) AS events,
	(SELECT count(*) FROM tidings.delivery) AS jobs,
	(SELECT count(*) FROM effect) AS effects,
	(SELECT sum(attempts) FROM tidings.delivery) AS attempts,
	(SELECT count(*) FROM tidings.delivery_history WHERE kind = 'FAILURE') AS failures,
	(SELECT count(*) FROM tidings.delivery_history WHERE kind = 'FAILURE' AND late) AS late,
	(SELECT count(*) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST') AS losses,
	(SELECT count(DISTINCT delivery_id) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST') AS suspects,
	(SELECT count(*) FROM tidings.delivery WHERE state = 'FAILED') AS failed`

// total sums up all fleets of this process.
var total struct {
	sync.Mutex
	fleets int
	figures
}

// report tells what befell a fleet, and its figures.
func (f *fleet) report(format string, args ...any) {
	f.t.Helper()
	var n figures
	require.NoError(f.t, f.base.DB.Get(&n, counts))
	n.Kills, n.Transactions, n.Unknown = f.kills, f.told["ok"]+f.told["no"]+f.told["unknown"], f.told["unknown"]
	total.Lock()
	total.fleets++
	total.figures = total.plus(n)
	total.Unlock()
	tell(f.t, "%s: %s", fmt.Sprintf(format, args...), n)
}

// tell prints what a test has seen, also where the tests are not verbose.
func tell(t *testing.T, format string, args ...any) {
	t.Helper()
	if testing.Verbose() {
		t.Logf(format, args...)
		return
	}
	fmt.Printf("%s: %s\n", t.Name(), fmt.Sprintf(format, args...))
}

// repeat is the arguments that repeat this run.
func repeat() string {
	args := []string{fmt.Sprintf("-faults.seed=%d", *seedFlag)}
	flag.Visit(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "faults.") && f.Name != "faults.seed" {
			args = append(args, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	return strings.Join(args, " ")
}

// runner runs the tests and prints the sum of their figures.
type runner struct{ tests pgtest.Runner }

func (r runner) Run() int {
	started := time.Now()
	code := r.tests.Run()
	if total.fleets > 0 {
		fmt.Printf("%d fleets in %v: %s\nrepeat with: %s\n", total.fleets, time.Since(started).Round(time.Second), total.figures, repeat())
	}
	return code
}
