//go:build unix

package nodes_test

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
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
		return behind(t, base) + "&default_query_exec_mode=exec"
	},
}

func behind(t *testing.T, base *lab.Base) string {
	u, err := url.Parse(base.URL)
	require.NoError(t, err)
	return bouncer.Start(t, pgtest.Server(t), 10)(strings.TrimPrefix(u.Path, "/"))
}

// amount is how many events each run has, of four jobs each: by default 1,250 in
// one run and 250 in the others. TIDINGS_TEST_EVENTS asks for another number in
// all of them.
func amount(t *testing.T, most bool) int {
	n := 250
	if most {
		n = 1250
	}
	if text := os.Getenv("TIDINGS_TEST_EVENTS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	return n
}

// Contract 6, however many processes deliver and however they reach PostgreSQL:
// listeners that succeed, that fail at first, that fail for good, and that emit
// events with listeners of their own.
func TestAnyNumberOfProcessesDeliverEachJobOnceByAnyWay(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		for _, processes := range []int{2, 4} {
			// One after another: they need all of a small machine.
			t.Run(fmt.Sprintf("%s, %d processes", name, processes), func(t *testing.T) {
				deliverBy(t, way, processes, amount(t, name == "pq" && processes == 4))
			})
		}
	}
}

func deliverBy(t *testing.T, way func(*testing.T, *lab.Base, *lab.Plan) string, processes, events int) {
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A", MaxAttempts: 3, First: 10 * time.Millisecond}, {Name: "B"}},
		Relay:     true,
		Delivery:  delivery.Config{Workers: 4},
	}
	base := lab.NewBase(t, plan)
	reach := way(t, base, &plan)
	var pids []int
	for range processes {
		pids = append(pids, lab.StartChild(t, reach, plan).PID())
	}
	pub := publisher(t, reach, plan)
	hopeless := 0
	for from := 0; from < events; from += 125 {
		orders := make([]string, min(125, events-from))
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
}
