//go:build unix

package pgserver

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const nobody = 65534

// TestTheServerEndsWithItsParent kills the parent and looks whether anything of
// the server is left: with each line of defence alone, with both, as a root
// parent whose server has another user, and as an unprivileged one.
func TestTheServerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	lines := map[string]childConfig{"both": {}, "watcher alone": {NoDeathSignal: true}}
	if runtime.GOOS == "linux" {
		lines["death signal alone"] = childConfig{NoWatcher: true}
	}
	uids := map[string]uint32{"as this user": 0}
	if os.Geteuid() == 0 {
		uids["as nobody"] = nobody
	}
	for userName, uid := range uids {
		tmp := openTemp(t) // shared, and with it the cache
		require.NoError(t, os.Chmod(tmp, 0o777))
		for lineName, c := range lines {
			for _, kept := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, kept=%t", userName, lineName, kept), func(t *testing.T) {
					t.Parallel()
					c := c
					if c.Sessions = true; kept {
						c.DataDir = filepath.Join(tmp, "kept "+lineName)
					}
					parent := startChild(t, c, uid, tmp)
					server := parent.server(t)
					require.NotEmpty(t, users(t, server.Data))
					parent.kill()
					eventually(t, func() bool { return !alive(server.PID) }, "postmaster outlives its parent")
					eventually(t, func() bool { return len(users(t, server.Data)) == 0 }, "a process uses the data folder")
					for _, pid := range server.SessionPIDs {
						require.False(t, alive(pid), "a backend outlives the postmaster")
					}
				})
			}
		}
	}
}

// TestAParentKilledDuringStartLeavesNoServer kills at random instants of initdb,
// copying, forking and recovery.
func TestAParentKilledDuringStartLeavesNoServer(t *testing.T) {
	t.Parallel()
	for _, c := range []childConfig{{}, {NoDeathSignal: true}} {
		t.Run(fmt.Sprintf("death signal %t", !c.NoDeathSignal), func(t *testing.T) {
			t.Parallel()
			tmp := openTemp(t)
			for range 12 {
				parent := startChild(t, c, 0, tmp)
				<-time.After(rand.N(700 * time.Millisecond)) // the fault's instant, not a synchronisation
				parent.kill()
				eventually(t, func() bool { return len(users(t, tmp)) == 0 }, "a process is left")
			}
			// What the kills left is cleaned away by a start that succeeds.
			parent := startChild(t, c, 0, tmp)
			server := parent.server(t)
			left, err := filepath.Glob(filepath.Join(tmp, runPrefix+"*"))
			require.NoError(t, err)
			require.Contains(t, left, server.Run)
			for _, dir := range left { // a kill between making and locking a folder leaves it for later
				if dir != server.Run {
					require.NoFileExists(t, filepath.Join(dir, lockName))
				}
			}
		})
	}
}

func TestFoldersOfDeadParentsAreRemovedAndOfLivingOnesKept(t *testing.T) {
	t.Parallel()
	tmp := openTemp(t)
	living := startChild(t, childConfig{}, 0, tmp).server(t)
	dead := startChild(t, childConfig{}, 0, tmp)
	deadServer := dead.server(t)
	require.DirExists(t, deadServer.Run)
	dead.kill()
	eventually(t, func() bool { return len(users(t, deadServer.Data)) == 0 }, "server outlives its parent")
	account, err := chooseAccount("")
	require.NoError(t, err)
	removeStale(tmp, account)
	require.NoDirExists(t, deadServer.Run)
	require.FileExists(t, filepath.Join(living.Data, pidName))
	require.True(t, alive(living.PID))
}

// TestAKeptFolderIsTakenOverFromAKilledParent starts at once, while the old
// server is still shutting down.
func TestAKeptFolderIsTakenOverFromAKilledParent(t *testing.T) {
	t.Parallel()
	tmp := openTemp(t)
	dir := filepath.Join(tmp, "deep", "kept")
	parent := startChild(t, childConfig{DataDir: dir, Sessions: true}, 0, tmp)
	old := parent.server(t)
	_, err := Start(t.Context(), Config{DataDir: dir})
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, fmt.Sprint(old.PID))
	parent.kill()
	s := start(t, Config{DataDir: dir})
	require.NotEqual(t, old.PID, s.PID())
}

// TestTheServerSurvivesTheThreadThatStartedIt: the kernel's death signal comes
// when the forking thread dies, so that thread must not be the caller's.
func TestTheServerSurvivesTheThreadThatStartedIt(t *testing.T) {
	t.Parallel()
	started := make(chan *Server, 1)
	thread := make(chan int, 1)
	onDyingThread(func() {
		s, err := Start(t.Context(), Config{})
		if err != nil {
			t.Error(err)
		}
		thread <- threadID()
		started <- s
	})
	s := <-started
	require.NotNil(t, s)
	defer func() { require.NoError(t, s.Stop(t.Context())) }()
	if tid := <-thread; tid != 0 {
		eventually(t, func() bool {
			return !fileExists(fmt.Sprintf("/proc/self/task/%d", tid))
		}, "thread does not end")
	}
	require.NoError(t, s.ping(t.Context()))
}

// onDyingThread runs do on a thread that ends with it. The main thread never
// does, so it is kept busy if it comes by.
func onDyingThread(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without unlocking, the thread ends with the goroutine
		if threadID() == os.Getpid() {
			onDyingThread(do)
			runtime.UnlockOSThread()
			return
		}
		do()
	}()
	<-done
}

// TestASignalToTheProcessGroupDoesNotReachTheServer: Ctrl-C is for the app.
func TestASignalToTheProcessGroupDoesNotReachTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	group, err := syscall.Getpgid(s.PID())
	require.NoError(t, err)
	require.Equal(t, s.PID(), group)
}
