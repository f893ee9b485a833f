//go:build unix

package delivery_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

// The database goes away twice, once without a farewell, while two processes
// deliver.
func TestADatabaseRestartedUnderLoadLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	const jobs = 1500
	plan := cuttable()
	plan.Listeners[0].MaxAttempts = 3
	plan.Listeners = append(plan.Listeners, lab.Listener{Name: "B"})
	plan.Delivery.Workers = 4
	server, base := lab.NewServer(t, plan, pgserver.Config{})
	pub := publisher(t, base, plan)
	for from := int64(0); from < jobs; from += 500 {
		pub.PutMany(t, from, 500)
	}
	require.NoError(t, pub.Stop())
	lab.StartChild(t, base.URL, plan)
	lab.StartChild(t, base.Way(server.TCPURL("postgres")), plan)
	base.Await(`SELECT count(*) > 500 FROM effect`)
	require.NoError(t, server.Crash(t.Context()))
	require.NoError(t, server.Restart(t.Context()))
	base.Await(`SELECT count(*) > 1500 FROM effect`)
	require.NoError(t, server.Restart(t.Context()))
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 2*jobs, base.Int(`SELECT count(*) FROM effect`), "none FAILED")
}
