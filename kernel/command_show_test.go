package kernel_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/observability/catalogue"
	"github.com/tidings-go/tidings/usecase"
)

type (
	Sell    struct{ N int }
	Quote   struct{ N int }
	Sold    struct{ N int }
	Bye     struct{ N int }
	sellDep struct {
		Quote usecase.Service[Quote, int]
		Sold  events.Emitter[Sold]
		Again events.Emitter[Sold] `optional:"true"`
		Gone  events.Emitter[Bye]  `optional:"true"`
	}
	billDep struct{ Sell usecase.Usecase[Sell, int] }
)

func sell(context.Context, access.Self[Sell, sellDep]) (int, error) { return 0, nil }
func quote(context.Context, access.Self[Quote, none]) (int, error)  { return 0, nil }
func bill(context.Context, events.Self[Sold, billDep]) error        { return nil }
func stock(context.Context, events.Self[Sold, none]) error          { return nil }
func shopModule() fx.Option {
	return kernel.Module("shop",
		usecase.Declare("shop.Sell", sell, usecase.RetryConflicts(2)),
		usecase.DeclareService("shop.Quote", quote),
		events.Declare[Sold]("shop.Sold"),
		events.Sync("shop.Stock", stock),
		events.Deferred("shop.Bill", bill, events.MaxAttempts(3), events.TimeLimit(time.Minute)),
	)
}

func TestTheCatalogueShowsWhatIsDeclaredAndWhere(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	code, out, errs := command(t, []string{"catalogue"}, shopModule())
	require.Equal(t, kernel.ExitOK, code, errs)
	for _, part := range []string{
		"shop.Sell  kernel_test.Sell → int", "declared    kernel/command_show_test.go:", "function kernel/command_show_test.go:",
		"transaction 2 retries after conflicts", "calls       shop.Quote", "emits       shop.Sold", "listeners   shop.Stock, shop.Bill",
		"policy      3 attempts, waits 1s to 10m0s, 1m0s each", "listens to  shop.Sold", "yes, for its deferred listeners",
	} {
		require.Contains(t, out, part)
	}
	code, out, errs = command(t, []string{"catalogue", "--json"}, shopModule())
	require.Equal(t, kernel.ExitOK, code, errs)
	var c catalogue.Catalogue
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	entries := map[string]catalogue.Entry{}
	for _, e := range c.Entries {
		entries[e.Identity] = e
	}
	require.Len(t, entries, 5)
	require.Equal(t, []string{"shop.Sold"}, entries["shop.Sell"].Emits, "each once; what nothing declares is not there")
	require.Equal(t, []string{"shop.Sell"}, entries["shop.Bill"].Calls)
	require.Equal(t, &catalogue.Policy{MaxAttempts: 3, BackoffFirst: "1s", BackoffMax: "10m0s", TimeLimit: "1m0s"}, entries["shop.Bill"].Policy)
	require.Nil(t, entries["shop.Stock"].Policy)
}

// TestTheFlowIsDrawn: what listeners hide is visible, down to the usecase that a
// deferred listener calls again.
func TestTheFlowIsDrawn(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	code, out, errs := command(t, []string{"catalogue", "--mermaid"}, shopModule())
	require.Equal(t, kernel.ExitOK, code, errs)
	lines := strings.Split(out, "\n")
	require.Equal(t, "flowchart LR", lines[0])
	for _, line := range []string{
		`  n0["shop.Sell"]:::usecase`, `  n1[["shop.Quote"]]:::service`, `  n2(["shop.Sold"]):::event`,
		`  n3[/"shop.Stock"/]:::sync`, `  n4[/"shop.Bill"/]:::deferred`,
		`  n0 -->|calls| n1`, `  n0 -->|emits| n2`, `  n2 -->|at once| n3`, `  n2 -.->|later| n4`, `  n4 -->|calls| n0`,
	} {
		require.Contains(t, lines, line)
	}
	code, out, errs = command(t, []string{"catalogue", "--dot"}, shopModule())
	require.Equal(t, kernel.ExitOK, code, errs)
	require.Contains(t, out, `n2 -> n4 [label="later", style=dashed];`)
	require.Contains(t, out, `n0 [label="shop.Sell", shape=box, tooltip="kernel/command_show_test.go:`)
	code, _, errs = command(t, []string{"catalogue", "--dot", "--json"}, shopModule())
	require.Equal(t, kernel.ExitUsage, code)
	require.Contains(t, errs, "--dot, --json: want one of them")
}

func TestConfigTellsWhereEachSettingComesFromAndNoSecret(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://ada:s3cret@db.example/app?sslpassword=s3cret2")
	t.Setenv("TIDINGS_LISTEN_URL", "s3cret3")
	t.Setenv("TIDINGS_BATCH", "50")
	code, _, errs := command(t, []string{"config"}, shopModule(), quick())
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, "TIDINGS_LISTEN_URL: want postgres://")
	require.NotContains(t, errs, "s3cret")
	t.Setenv("TIDINGS_LISTEN_URL", "postgres://ada:s3cret3@db.example/app")
	code, out, errs := command(t, []string{"config", "--admin-addr", "off"}, shopModule(), quick())
	require.Equal(t, kernel.ExitOK, code, errs)
	require.NotContains(t, out, "s3cret")
	for _, line := range []string{
		`DATABASE_URL postgres://ada:xxxxx@db.example/app?sslpassword=xxxxx environment`, `TIDINGS_BATCH 50 environment`,
		`TIDINGS_WORKERS 2 code`, `TIDINGS_ADMIN_ADDR off flag`, `TIDINGS_LEASE 1m0s default`, `kernel.Schema tidings default`,
	} {
		require.Contains(t, strings.Join(strings.Fields(out), " "), line)
	}
	code, out, errs = command(t, []string{"config", "--json"}, shopModule())
	require.Equal(t, kernel.ExitOK, code, errs)
	var all struct {
		Settings []struct{ Variable, Value, Source string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Len(t, all.Settings, 16)
	require.NotContains(t, out, "s3cret")
}

func TestAllThatIsWrongWithTheConfigurationIsReportedAtOnce(t *testing.T) {
	t.Setenv("DATABASE_URL", "mysql://ada:s3cret@db/app")
	t.Setenv("TIDINGS_LISTEN_URL", "nonsense")
	t.Setenv("TIDINGS_BATCH", "many")
	t.Setenv("TIDINGS_LEASE", "-1s")
	t.Setenv("TIDINGS_ADMIN_ADDR", "nowhere")
	t.Setenv("TIDINGS_POOL_SIZE", "1")
	for _, name := range []string{"serve", "config"} {
		code, _, errs := command(t, []string{name}, shopModule())
		require.Equal(t, kernel.ExitError, code)
		require.True(t, strings.HasPrefix(errs, "error: configuration:\n  "), errs)
		for _, variable := range []string{"DATABASE_URL", "TIDINGS_LISTEN_URL", "TIDINGS_BATCH", "TIDINGS_LEASE", "TIDINGS_ADMIN_ADDR", "TIDINGS_POOL_SIZE"} {
			require.Equal(t, 1, strings.Count(errs, "\n  "+variable), errs)
		}
		require.NotContains(t, errs, "s3cret")
		require.NotContains(t, errs, "could not build", "no word of the container")
	}
}

func TestNodesListsWhoDeliversAndWhatNobodyDoes(t *testing.T) {
	t.Parallel()
	db := database(t, desk("test.nodes", nil))
	code, out, errs := command(t, []string{"nodes"}, desk("test.nodes", nil), kernel.Database(db))
	require.Equal(t, kernel.ExitOK, code, errs)
	require.Contains(t, out, "No node is registered.")
	require.Contains(t, out, "No live node has test.nodes.Deliver: its jobs are blocked.")
	a := newApp(t, kernel.Options(kernel.Database(db), quick()), desk("test.nodes", nil))
	a.start()
	code, out, errs = command(t, []string{"nodes", "--json"}, desk("test.nodes", nil), kernel.Database(db))
	require.Equal(t, kernel.ExitOK, code, errs)
	var all struct {
		Nodes []struct {
			Name      string
			Live      bool
			Listeners []string
		}
		Without []string `json:"listeners_without_live_node"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Len(t, all.Nodes, 1)
	require.True(t, all.Nodes[0].Live)
	require.Equal(t, []string{"test.nodes.Deliver"}, all.Nodes[0].Listeners)
	require.Empty(t, all.Without)
	code, out, errs = command(t, []string{"nodes"}, desk("test.nodes", nil), kernel.Database(db))
	require.Equal(t, kernel.ExitOK, code, errs)
	require.Contains(t, out, all.Nodes[0].Name)
	require.Contains(t, out, "live")
	a.stop()
}

func TestDoctorEndsWithACodeOfItsOwnWhereItFindsProblems(t *testing.T) {
	t.Parallel()
	db := database(t, desk("test.doctor", nil))
	doctor := func(args ...string) (int, string, string) {
		return command(t, append([]string{"doctor"}, args...), desk("test.doctor", nil), kernel.Database(db))
	}
	code, out, errs := doctor()
	require.Equal(t, kernel.ExitFindings, code, errs)
	require.Contains(t, out, "PROBLEM  settings     fsync is off") // of the test server
	require.Contains(t, out, "do: turn it on")
	require.Contains(t, errs, "problems found")
	code, out, _ = doctor("--json")
	require.Equal(t, kernel.ExitFindings, code)
	var all struct {
		Problems int
		Findings []struct{ Check, Status, Says, Do string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Positive(t, all.Problems)
	require.GreaterOrEqual(t, len(all.Findings), 12)
	closed, err := sqlx.Open("postgres", "postgres://nobody@127.0.0.1:1/none?sslmode=disable")
	require.NoError(t, err)
	code, _, errs = command(t, []string{"doctor"}, desk("test.doctor", nil), kernel.Database(closed))
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, "database not reached")
	require.NoError(t, closed.Close())
}
