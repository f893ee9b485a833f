//go:build unix

package nodes_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/drivers/bouncer"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// ways are the ways to reach PostgreSQL: each makes the URL of a database and
// says what else a process needs to know.
var ways = map[string]func(*testing.T, *lab.Base, *lab.Plan) string{
	"pq": func(_ *testing.T, base *lab.Base, p *lab.Plan) string {
		p.Listen = base.URL
		return base.URL
	},
	"pgx": func(_ *testing.T, base *lab.Base, p *lab.Plan) string {
		p.Driver, p.Listen = "pgx", base.URL
		return base.URL
	},
	"pq and PgBouncer": func(t *testing.T, base *lab.Base, p *lab.Plan) string {
		p.PgBouncer = true
		return behind(t, base)
	},
	"pgx and PgBouncer": func(t *testing.T, base *lab.Base, p *lab.Plan) string {
		p.Driver, p.PgBouncer = "pgx", true
		return behind(t, base)
	},
}

func behind(t *testing.T, base *lab.Base) string {
	return bouncer.Start(t, pgtest.Server(t), base.URL, 10)
}

// amount is how many events a way has, of four jobs each: by default 1,250 for
// lib/pq and 250 for each other. TIDINGS_TEST_EVENTS asks for another number.
func amount(t *testing.T, way string) int {
	n := 250
	if way == "pq" {
		n = 1250
	}
	if text := os.Getenv("TIDINGS_TEST_EVENTS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	return n
}

// Contract 6, however processes reach PostgreSQL, two of them for the first half
// of the work and four for the second: listeners that succeed, that fail at first,
// that fail for good, and that emit events with listeners of their own.
func TestAnyNumberOfProcessesDeliverEachJobOnceByAnyWay(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) { // one after another: each needs all of a small machine
			plan := lab.Plan{
				Listeners: []lab.Listener{{Name: "A", MaxAttempts: 3, First: 10 * time.Millisecond}, {Name: "B"}},
				Relay:     true,
				Delivery:  delivery.Config{Workers: 4, Poll: 300 * time.Millisecond, Maintenance: 300 * time.Millisecond},
			}
			base := lab.NewBase(t, plan)
			reach := way(t, base, &plan)
			pub := publisher(t, reach, plan)
			events := amount(t, name)
			half := events / 2
			var pids []int
			for range 2 {
				pids = append(pids, lab.StartChild(t, reach, plan).PID())
			}
			hopeless := publishTo(t, pub, 0, half)
			base.AwaitSettled()
			for range 2 {
				pids = append(pids, lab.StartChild(t, reach, plan).PID())
			}
			hopeless += publishTo(t, pub, half, events)
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Equal(t, 4*events, base.Int(`SELECT count(*) FROM tidings.delivery`))
			require.Equal(t, 4*events-hopeless, base.Int(`SELECT count(*) FROM effect`))
			require.Equal(t, hopeless, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED' AND attempts = 3`))
			for _, pid := range pids {
				if events >= 1000 { // enough for all
					require.NotZero(t, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, pid), "process %d did nothing", pid)
				}
			}
		})
	}
}

// publishTo publishes the tasks numbered from from up to to and returns how many
// of them fail for good.
func publishTo(t *testing.T, pub *lab.Node, from, to int) (hopeless int) {
	for ; from < to; from += 125 {
		orders := make([]string, min(125, to-from))
		for i := range orders {
			switch n := from + i; {
			case n%125 == 0:
				orders[i] = "A: fail 99"
				hopeless++
			case n%12 == 0:
				orders[i] = "A: fail 1"
			}
		}
		pub.Put(t, int64(from), orders...)
	}
	return hopeless
}
