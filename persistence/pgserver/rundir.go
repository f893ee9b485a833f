package pgserver

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	runPrefix = "tidings-pg-"
	lockName  = "tidings.lock"
	logName   = "server.log"
	pidName   = "postmaster.pid"
	abandoned = 10 * time.Minute // age at which a folder without a lock file is nobody's

	longestSocket = ".s.PGSQL.65535"
)

// runDir is the temporary folder of one server: socket, temporary data, log.
// Its lock tells other processes that its owner lives.
type runDir struct {
	path string
	lock *fileLock
}

// tempEnv names the folder for temporary folders of servers.
const tempEnv = "TIDINGS_PG_TMP"

// newRunDir makes the folder under the first base that fits. It has mode 0700 and is this user's until it is
// handed to the server's.
func newRunDir(chosen string, a *account) (*runDir, error) {
	var problems []error
	for _, base := range tempBases(chosen) {
		removeStale(base, a)
		run, err := newRunDirIn(base, a)
		if err == nil {
			return run, nil
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("make temporary folder for the server: %w", errors.Join(problems...))
}

// tempBases are the folders to try: the chosen one alone, if there is one.
func tempBases(chosen string) []string {
	if chosen = cmp.Or(chosen, os.Getenv(tempEnv)); chosen != "" {
		return []string{chosen}
	}
	bases := []string{os.TempDir()}
	if runtime.GOOS != "windows" {
		for _, base := range []string{"/tmp", "/var/tmp"} {
			if !slices.Contains(bases, base) {
				bases = append(bases, base)
			}
		}
	}
	return bases
}

func newRunDirIn(base string, a *account) (*runDir, error) {
	base, err := filepath.Abs(base)
	if err != nil {
		return nil, err
	}
	for range 3 { // a cleaner may take the folder before it is locked
		path, err := os.MkdirTemp(base, runPrefix)
		if err != nil {
			return nil, err
		}
		if err := checkSocketPath(path); err != nil {
			_ = os.Remove(path)
			return nil, err
		}
		lock, err := lockFile(filepath.Join(path, lockName))
		if err != nil {
			_ = os.RemoveAll(path)
			continue
		}
		run := &runDir{path, lock}
		if err := a.checkEnter(base); err != nil {
			run.remove()
			return nil, err
		}
		return run, nil
	}
	return nil, fmt.Errorf("%s: folders vanish or cannot be locked", base)
}

// checkSocketPath refuses a folder whose socket name the system cannot hold:
// sun_path has 108 bytes on Linux, 104 elsewhere, the last one NUL.
func checkSocketPath(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	limit := 103
	if runtime.GOOS == "linux" {
		limit = 107
	}
	if socket := filepath.Join(dir, longestSocket); len(socket) > limit {
		return fmt.Errorf("socket path %s has %d bytes, the system takes %d: set $TMPDIR or $"+tempEnv+" to a shorter folder",
			socket, len(socket), limit)
	}
	if strings.Contains(dir, ",") { // the separator of unix_socket_directories, and of lib/pq's hosts
		return fmt.Errorf("socket folder %s must not contain a comma", dir)
	}
	return nil
}

func (r *runDir) remove() {
	if runtime.GOOS == "windows" {
		r.lock.release() // an open file cannot be removed
	}
	_ = os.RemoveAll(r.path)
	r.lock.release()
}

// removeStale removes the folders of dead parents. Errors are left to the next
// start: another process may be cleaning as well.
func removeStale(base string, a *account) {
	paths, err := filepath.Glob(filepath.Join(base, runPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !a.ours(info) {
			continue
		}
		lockPath := filepath.Join(path, lockName)
		if _, err := os.Lstat(lockPath); err != nil && time.Since(info.ModTime()) < abandoned {
			continue // just being made
		}
		lock, err := lockFile(lockPath)
		if err != nil {
			continue // its owner lives
		}
		if pid := readPID(filepath.Join(path, "data")); pid > 0 && alive(pid) {
			lock.release() // its server is still shutting down
			continue
		}
		(&runDir{path, lock}).remove()
	}
}

// readPID is the PID in a data folder's postmaster.pid, zero if there is none.
func readPID(data string) int {
	content, err := os.ReadFile(filepath.Join(data, pidName))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return 0
	}
	return pid
}
