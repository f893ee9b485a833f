//go:build unix

package delivery_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// The whole of this package runs by each way to reach PostgreSQL, if nodes and
// children take it.
func TestNodesAndChildrenTakeTheWayOfTheRun(t *testing.T) {
	t.Parallel()
	way := os.Getenv("TIDINGS_LAB_WAY")
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A"}}}
	base := lab.NewBase(t, plan)
	require.Equal(t, strings.Contains(way, "pgbouncer"), base.URL != pgtest.Server(t).URL(base.Text(`SELECT current_database()`)))
	for name, start := range map[string]func(string){
		"node":  func(url string) { lab.Start(t, url, plan) },
		"child": func(url string) { lab.StartChild(t, url, plan) },
	} {
		proxy := pgproxy.Start(t, base.URL)
		start(proxy.URL())
		publisher(t, base, plan).PutMany(t, 1, 10)
		base.AwaitSettled()
		require.Equal(t, strings.Contains(way, "pgx"), slices.Contains(proxy.Statements(), "begin"), "%s: pgx writes it small", name)
		require.Equal(t, strings.Contains(way, "pgbouncer"), proxy.Prepared() == 0, "%s: only behind PgBouncer nothing is prepared", name)
	}
}
