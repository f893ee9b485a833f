//go:build unix

package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/process"
	"github.com/tidings-go/tidings/persistence"
)

// publisher is the role of a child that publishes for as long as it lives.
const publisher = "publisher"

const (
	firstEnv   = "TIDINGS_FAULTS_FIRST"
	backlogEnv = "TIDINGS_FAULTS_BACKLOG"
)

// Main is main of a child: call it in TestMain where process.Role is not empty.
func Main() {
	switch process.Role() {
	case publisher:
		publish()
	case meter:
		measure()
	}
	lab.ChildMain(extend)
}

// StartWorker starts a process that delivers and does not wait for it.
func StartWorker(t testing.TB, url string, p lab.Plan) *process.Child {
	return lab.Launch(t, lab.Role, url, p)
}

// StartNode starts a program that runs Main as a process that delivers, with a
// clock that is so many seconds ahead, and does not wait for it.
func StartNode(t testing.TB, program, url string, p lab.Plan, ahead int) *process.Child {
	return process.StartProgram(t, program, lab.Role, append(lab.Env(url, p), fmt.Sprintf("%s=%d", ClockEnv, ahead))...)
}

// ClockEnv is how many seconds the clock of a node is ahead, where the program
// was built for it.
const ClockEnv = "TIDINGS_FAULTS_CLOCK"

// StartPublisher starts a process that publishes tasks, numbered from first,
// while no more than backlog jobs are unfinished, until it is told "enough". What
// it orders follows from first. For every transaction it says what it was told:
// "ok", "no" or "unknown", with the first number and the count of the tasks.
func StartPublisher(t testing.TB, url string, p lab.Plan, first int64, backlog int) *process.Child {
	p.PublishOnly = true
	return lab.Launch(t, publisher, url, p, fmt.Sprintf("%s=%d", firstEnv, first), fmt.Sprintf("%s=%d", backlogEnv, backlog))
}

func publish() {
	n := lab.OpenChild(extend)
	first, err1 := strconv.ParseInt(os.Getenv(firstEnv), 10, 64)
	backlog, err2 := strconv.Atoi(os.Getenv(backlogEnv))
	if err := errors.Join(err1, err2); err != nil {
		panic(err)
	}
	enough := make(chan struct{})
	go func() {
		publishUntil(n, enough, first, backlog)
		if err := n.Stop(); err != nil {
			panic(err)
		}
		os.Exit(0)
	}()
	process.Say("up")
	process.Heard(func(string) { close(enough) })
}

func publishUntil(n *lab.Node, enough <-chan struct{}, first int64, backlog int) {
	r := rand.New(rand.NewPCG(uint64(first), 0))
	for seq := first; ; {
		var pause time.Duration // until there is room, or a database
		if full(n, backlog) {
			pause = 20 * time.Millisecond
		} else {
			p := lab.Publish{Tasks: tasks(r, seq)}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			err := n.Publish.Execute(ctx, p)
			cancel()
			process.Say("%s %d %d", Told(err), seq, len(p.Tasks))
			seq += int64(len(p.Tasks))
			if err != nil {
				pause = 20 * time.Millisecond
			}
		}
		select {
		case <-enough:
			return
		case <-time.After(pause):
		}
	}
}

func tasks(r *rand.Rand, seq int64) (all []lab.Task) {
	for i := range int64(1 + r.IntN(5)) {
		only, do := order(r)
		all = append(all, lab.Task{Seq: seq + i, Do: do, Only: only})
	}
	return all
}

// full says whether enough jobs are unfinished. A database that cannot be asked
// is not full: publishing into a broken one is wanted.
func full(n *lab.Node, backlog int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var count int
	err := n.Pool.GetContext(ctx, &count, `SELECT count(*) FROM (
		SELECT FROM tidings.delivery WHERE state IN ('READY', 'WAITING', 'CLAIMED') LIMIT $1) d`, backlog)
	return err == nil && count >= backlog
}

// Told is what a publisher was told of its transaction.
func Told(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, persistence.ErrUnknownOutcome):
		return "unknown"
	default:
		return "no"
	}
}

// order is what a task orders: most are plain, some slow, some fail for a while,
// and Doomed's fail for good.
func order(r *rand.Rand) (only, do string) {
	switch n := r.IntN(100); {
	case n < 60:
		return "", ""
	case n < 70:
		return "Slow", fmt.Sprintf("slow %d", 10+r.IntN(150))
	case n < 80:
		return "Flaky", fmt.Sprintf("fail %d", 1+r.IntN(3))
	case n < 85:
		return "Relay", "fail 1"
	case n < 90:
		return "", fmt.Sprintf("fail %d", 1+r.IntN(2))
	case n < 95:
		return "", fmt.Sprintf("slow %d", r.IntN(50))
	default:
		return "Doomed", "fail 1000"
	}
}
