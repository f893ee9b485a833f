//go:build unix

package pgserver

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const childEnv = "TIDINGS_PGSERVER_CHILD"

// childConfig is what the parent asks of a child process.
type childConfig struct {
	DataDir                  string
	NoDeathSignal, NoWatcher bool
	Sessions                 bool // one idle in a transaction, one busy
}

// childServer is what the child answers when its server is up.
type childServer struct {
	PID         int
	Data, Run   string
	SessionPIDs []int
	Error       string
}

// childMain starts a server as asked, reports it, and waits to be killed.
func childMain() {
	var c childConfig
	var answer childServer
	err := json.Unmarshal([]byte(os.Getenv(childEnv)), &c)
	if err == nil {
		answer, err = childStart(c)
	}
	if err != nil {
		answer.Error = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(answer)
	_, _ = io.Copy(io.Discard, os.Stdin) // the test keeps it open
	os.Exit(3)
}

func childStart(c childConfig) (childServer, error) {
	ctx := context.Background()
	s, err := Start(ctx, Config{DataDir: c.DataDir, guards: guards{c.NoDeathSignal, c.NoWatcher}})
	if err != nil {
		return childServer{}, err
	}
	answer := childServer{PID: s.PID(), Data: s.DataDir(), Run: s.SocketDir()}
	if !c.Sessions {
		return answer, nil
	}
	db, err := sql.Open("postgres", s.URL("postgres"))
	if err != nil {
		return answer, err
	}
	for _, statement := range []string{`BEGIN; CREATE TABLE t (); LOCK TABLE t`, `DO $$ BEGIN LOOP END LOOP; END $$`} {
		conn, err := db.Conn(ctx)
		if err != nil {
			return answer, err
		}
		var pid int
		if err := conn.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
			return answer, err
		}
		answer.SessionPIDs = append(answer.SessionPIDs, pid)
		go func() { _, _ = conn.ExecContext(ctx, statement) }()
	}
	return answer, nil
}

// child is a running child process.
type child struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
}

// startChild re-executes the test binary. uid 0 keeps this process's user; TMPDIR
// is a folder of the child's own unless tmp is given.
func startChild(t *testing.T, c childConfig, uid uint32, tmp string) *child {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(binary)
	if uid != 0 {
		cmd.Path = copyBinary(t, binary)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		cmd.Dir = "/"
	}
	asked, err := json.Marshal(c)
	require.NoError(t, err)
	cmd.Env = append(os.Environ(), childEnv+"="+string(asked), "TMPDIR="+tmp, tempEnv+"=")
	if uid != 0 {
		cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+filepath.Join(tmp, "cache"))
	}
	_, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	ch := &child{cmd: cmd, stdout: bufio.NewReader(out)}
	t.Cleanup(ch.kill)
	return ch
}

func copyBinary(t *testing.T, binary string) string {
	t.Helper()
	content, err := os.ReadFile(binary)
	require.NoError(t, err)
	path := filepath.Join(openTemp(t), "child.test")
	require.NoError(t, os.WriteFile(path, content, 0o755))
	return path
}

// server waits for the child's server.
func (c *child) server(t *testing.T) childServer {
	t.Helper()
	line, err := c.stdout.ReadString('\n')
	require.NoError(t, err)
	var answer childServer
	require.NoError(t, json.Unmarshal([]byte(line), &answer))
	require.Empty(t, answer.Error)
	return answer
}

// kill is SIGKILL; it returns when the child is reaped. Killing twice is fine.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// users are the live processes that work in or name a folder: postmaster and
// backends have the data folder as working directory, the postmaster and the
// watcher have it in their arguments.
func users(t *testing.T, dir string) (found []string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		out, err := exec.Command("ps", "-axww", "-o", "pid=,command=").Output()
		require.NoError(t, err)
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, dir) {
				found = append(found, line)
			}
		}
		return found
	}
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		args, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if strings.HasPrefix(cwd, dir) || strings.Contains(string(args), dir) {
			found = append(found, fmt.Sprintf("%d %s %q", pid, cwd, args))
		}
	}
	slices.Sort(found)
	return found
}
