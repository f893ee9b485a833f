//go:build unix

package lab

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/tidings-go/tidings/integration/drivers/bouncer"
)

// wayEnv names the way in which the nodes of a run of tests reach PostgreSQL: empty
// is lib/pq, "pgx" the other driver, "pgbouncer" has a PgBouncer in transaction mode
// before the server, and "pgx,pgbouncer" is both. A plan that says more keeps it.
const wayEnv = "TIDINGS_LAB_WAY"

// chosen is the way of this run. What is no way must not pass for the default one.
var chosen = func() way {
	w, err := parseWay(os.Getenv(wayEnv))
	if err != nil {
		panic(err)
	}
	return w
}()

// way is a way to reach PostgreSQL.
type way struct {
	driver  string // of the pool; empty: lib/pq
	bouncer bool   // behind a PgBouncer
}

func parseWay(text string) (way, error) {
	var w way
	if text == "" {
		return w, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		switch {
		case word == "pgx" && w.driver == "":
			w.driver = word
		case word == "pgbouncer" && !w.bouncer:
			w.bouncer = true
		default:
			return way{}, fmt.Errorf("%s=%s: want pgx, pgbouncer or both with a comma", wayEnv, text)
		}
	}
	return w, nil
}

// on is the plan with what it leaves open of the way.
func (w way) on(p Plan) Plan {
	p.Driver = cmp.Or(p.Driver, w.driver, "postgres")
	p.PgBouncer = p.PgBouncer || w.bouncer
	return p
}

// dsn is what the plan's driver is opened with to reach a database.
func (p Plan) dsn(database string) (string, error) {
	if p.Driver != "pgx" || !p.PgBouncer {
		return database, nil
	}
	return bouncer.ForPGX(database)
}

// BehindPgBouncer says whether the nodes of this run reach PostgreSQL through a
// PgBouncer.
func BehindPgBouncer() bool { return chosen.bouncer }
