//go:build linux && cgo

package faults_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

// Contract 13, as continuous integration tries it: it is the database's clock
// that is ten minutes ahead of all nodes, or behind. What a node reckoned with
// its own clock would be due at once, or long after this test's patience.
// (With cgo there is a C compiler, which this needs. `make soak` also has nodes
// whose clocks differ from each other's.)
func TestNodesDeliverWhateverTheDatabasesClockSays(t *testing.T) {
	t.Parallel()
	for _, ahead := range []int{600, -600} {
		t.Run(fmt.Sprintf("%+d seconds", ahead), func(t *testing.T) {
			t.Parallel()
			plan := soakPlan()
			plan.Listeners[0].First = 500 * time.Millisecond
			server, base := lab.NewServer(t, plan, pgserver.Config{Binaries: pgserver.Binaries{Dir: wrongClock(t, ahead)}})
			require.InDelta(t, float64(time.Now().Unix()+int64(ahead)), base.Int(`SELECT extract(epoch FROM clock_timestamp())::bigint`), 60,
				"the database's clock is not changed")
			f := newFleet(t, base, plan, dice(t), server.URL("postgres"))
			f.start(2, 1)
			f.workers[0].Expect(5, "start")
			f.kill(f.workers[0])
			f.work(0)
			f.progress(100)
			base.Await(`SELECT count(*) > 3 FROM tidings.delivery_history WHERE kind = 'FAILURE'`)
			f.rest()
			f.judgeTimes()
			require.NotZero(t, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE kind = 'LEASE_LOST'`))
			f.report("the database's clock %+d s off", ahead)
		})
	}
}

// wrongClock makes a folder of PostgreSQL's programs whose server has a clock
// that is so many seconds ahead: a library between it and the C library.
func wrongClock(t *testing.T, ahead int) string {
	t.Helper()
	found, err := pgserver.Find()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "clock")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // the server may run as another user
	programs, err := filepath.Glob(filepath.Join(found.Dir, "*"))
	require.NoError(t, err)
	for _, p := range programs {
		if filepath.Base(p) != "postgres" {
			require.NoError(t, os.Symlink(p, filepath.Join(dir, filepath.Base(p))))
		}
	}
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	require.NoError(t, os.WriteFile(source, []byte(clockSource), 0o644))
	text, err := exec.Command("gcc", "-shared", "-fPIC", fmt.Sprintf("-DAHEAD=%d", ahead), "-o", library, source, "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", text)
	script := fmt.Sprintf("#!/bin/sh\nLD_PRELOAD='%s' exec '%s' \"$@\"\n", library, filepath.Join(found.Dir, "postgres"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "postgres"), []byte(script), 0o755))
	return dir
}

// clockSource is what PostgreSQL reads its clock through.
const clockSource = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *t) {
	static int (*real)(clockid_t, struct timespec *);
	if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int answer = real(clock, t);
	if (answer == 0 && clock == CLOCK_REALTIME) t->tv_sec += AHEAD;
	return answer;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	static int (*real)(struct timeval *restrict, void *restrict);
	if (!real) real = (int (*)(struct timeval *restrict, void *restrict))dlsym(RTLD_NEXT, "gettimeofday");
	int answer = real(t, zone);
	if (answer == 0) t->tv_sec += AHEAD;
	return answer;
}

time_t time(time_t *t) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t) *t = now.tv_sec;
	return now.tv_sec;
}
`
