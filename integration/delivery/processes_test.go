//go:build unix

package delivery_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
)

// Contract 6: database effects of a deferred listener happen exactly once per
// job, however many processes deliver.
func TestTwoProcessesDeliverEachJobOnce(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) { twoProcesses(t, 5000, 0) })
	t.Run("in groups", func(t *testing.T) { twoProcesses(t, 2000, 16) })
}

func twoProcesses(t *testing.T, jobs int64, group int) {
	t.Parallel()
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A", Group: group}}}
	base := lab.NewBase(t, plan)
	children := []int{lab.StartChild(t, base.URL, plan).PID(), lab.StartChild(t, base.URL, plan).PID()}
	publisher := lab.Start(t, base.URL, lab.Plan{Listeners: plan.Listeners, PublishOnly: true})
	for from := int64(0); from < jobs; from += 500 {
		publisher.PutMany(t, from, 500)
	}
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.EqualValues(t, jobs, base.Int(`SELECT count(*) FROM effect`))
	for _, pid := range children {
		require.NotZero(t, base.Int(`SELECT count(*) FROM effect WHERE pid = $1`, pid), "process "+strconv.Itoa(pid)+" did nothing")
	}
}
