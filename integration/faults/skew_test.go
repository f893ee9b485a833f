//go:build unix && soak

package faults_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/faults/app"
)

// Contract 13: nodes whose clocks are ten minutes ahead and ten minutes behind
// deliver beside one whose clock is right, are killed, and retry. Nobody's due
// times, leases or ages are off.
//
// Go reads the clock without the C library, so that libfaketime cannot change it;
// the nodes are built with a time.Now of their own (go build -overlay), which
// compiles the standard library anew: minutes, the first time.
func TestNodesWithWrongClocksDeliverAsOthers(t *testing.T) {
	const wrong = 600 // seconds
	program := skewed(t)
	plan := soakPlan()
	plan.Listeners[0].First = 500 * time.Millisecond
	base := lab.NewBase(t, plan)
	f := newFleet(t, base, plan, dice(t))
	f.start(0, 2)
	for _, ahead := range []int{wrong, -wrong, 0, wrong, -wrong} {
		f.workers = append(f.workers, app.StartNode(t, program, base.URL, plan, ahead))
	}
	for i, ahead := range []int{wrong, -wrong} {
		f.workers[i].Expect(20, "start")
		f.kill(f.workers[i])
		f.workers[i] = app.StartNode(t, program, base.URL, plan, -ahead)
	}
	f.progress(500)
	base.Await(`SELECT count(*) > 10 FROM tidings.delivery_history WHERE kind = 'FAILURE'`)
	f.rest()
	f.judgeTimes()
	f.report("five nodes, three clocks")
}

// skewed builds the program of a node whose clock is ahead by app.ClockEnv.
func skewed(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	std := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	source, err := os.ReadFile(filepath.Join(std, "time.go"))
	require.NoError(t, err)
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	require.Equal(t, 1, strings.Count(string(source), now), "this Go's time.Now is another one")
	dir := t.TempDir()
	files := map[string]string{
		"time.go": strings.Replace(string(source), now, now+"\tsec += nodeClock\n", 1),
		"clock.go": `package time

import "syscall"

var nodeClock = func() (n int64) {
	s, _ := syscall.Getenv("` + app.ClockEnv + `")
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			n = n*10 + int64(c-'0')
		}
	}
	if len(s) > 0 && s[0] == '-' {
		n = -n
	}
	return n
}()
`,
	}
	replace := map[string]string{}
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		replace[filepath.Join(std, map[string]string{"time.go": "time.go", "clock.go": "tidings_clock.go"}[name])] = path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	program := filepath.Join(dir, "node")
	build := exec.Command("go", "build", "-overlay", list, "-o", program, "./node")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return program
}
