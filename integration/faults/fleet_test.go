//go:build unix

package faults_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/process"
	"github.com/tidings-go/tidings/integration/faults/app"
)

// backlogLimit is how many unfinished jobs make a publisher wait.
const backlogLimit = 400

// fleet is processes that publish and processes that deliver, on one database.
type fleet struct {
	t    *testing.T
	base *lab.Base
	plan lab.Plan
	dice *rand.Rand
	urls []string // the ways to the database, used in turn

	workers    []*process.Child
	publishers []*process.Child
	all        []*process.Child // every publisher that ever was
	told       map[string]int
	turn       int
	kills      int
}

func newFleet(t *testing.T, base *lab.Base, plan lab.Plan, dice *rand.Rand, urls ...string) *fleet {
	if len(urls) == 0 {
		urls = []string{base.URL}
	}
	return &fleet{t: t, base: base, plan: plan, dice: dice, urls: urls, told: map[string]int{}}
}

// start starts processes and waits until they are up.
func (f *fleet) start(workers, publishers int) {
	f.t.Helper()
	f.workers, f.publishers = make([]*process.Child, workers), make([]*process.Child, publishers)
	for i := range workers {
		f.work(i)
	}
	for i := range publishers {
		f.publish(i)
	}
	for _, c := range slices.Concat(f.workers, f.publishers) {
		c.Expect(1, "up")
	}
}

func (f *fleet) url() string {
	f.turn++
	return f.urls[f.turn%len(f.urls)]
}

// work starts worker i, anew.
func (f *fleet) work(i int) { f.workers[i] = app.StartWorker(f.t, f.url(), f.plan) }

// publish starts publisher i, anew, with numbers of its own.
func (f *fleet) publish(i int) {
	first := int64(len(f.all)+1) * 1_000_000
	f.publishers[i] = app.StartPublisher(f.t, f.url(), f.plan, first, backlogLimit)
	f.all = append(f.all, f.publishers[i])
}

// kill kills a process.
func (f *fleet) kill(c *process.Child) {
	f.t.Helper()
	c.Kill()
	f.kills++
}

// rest ends the publishing, waits until every job has come to an end, and judges.
func (f *fleet) rest() {
	f.t.Helper()
	for _, p := range f.publishers {
		p.Expect(1, "up")
		p.Tell("enough")
	}
	for _, p := range f.publishers {
		require.Equal(f.t, "exit status 0", p.Wait())
	}
	f.base.AwaitSettled()
	f.base.Judge(app.Spec(f.plan))
	f.judgeTold()
	require.Zero(f.t, f.base.Int(`SELECT count(*) FROM tidings.jobs WHERE stored_state = 'FAILED' AND listener <> $1`, lab.Identity("Doomed")),
		"jobs failed for good whose listeners do not\n%s", f.base.Describe())
	for _, w := range f.workers {
		w.Terminate()
	}
	for _, w := range f.workers {
		require.Equal(f.t, "exit status 0", w.Wait())
	}
}

// judgeTold compares what the publishers were told with what is stored.
func (f *fleet) judgeTold() {
	f.t.Helper()
	var lines []string
	for _, p := range f.all {
		lines = append(lines, p.Lines("")...)
	}
	for _, wrong := range untrue(f.t, f.base.DB, lines, f.told) {
		f.t.Error(wrong)
	}
}

// untrue returns what publishers were told that is not so, and counts what they
// were told. A line is "ok", "no" or "unknown", the first number of a
// transaction's tasks and their count; others are passed over.
func untrue(t testing.TB, db sqlx.Queryer, lines []string, count map[string]int) (wrong []string) {
	t.Helper()
	var stored []int64
	require.NoError(t, sqlx.Select(db, &stored, `SELECT "Seq" FROM "lab.delivery"."@event:Task"`))
	is := map[int64]bool{}
	for _, seq := range stored {
		is[seq] = true
	}
	for _, line := range lines {
		var told string
		var first, tasks int64
		if n, _ := fmt.Sscanf(line, "%s %d %d", &told, &first, &tasks); n < 3 || told != "ok" && told != "no" && told != "unknown" {
			continue
		}
		count[told]++
		there := int64(0)
		for seq := first; seq < first+tasks; seq++ {
			if is[seq] {
				there++
			}
		}
		if told == "ok" && there != tasks || told == "no" && there != 0 || there != 0 && there != tasks {
			wrong = append(wrong, fmt.Sprintf("the publisher was told %q of tasks from %d on, and %d of %d are stored", told, first, there, tasks))
		}
	}
	return wrong
}
