// Package bouncer runs a PgBouncer in transaction mode for tests.
package bouncer

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver "postgres"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver"
)

// find returns the program. Debian keeps it out of an ordinary user's path.
func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("TIDINGS_PGBOUNCER_BIN"), "pgbouncer", "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no pgbouncer: install it (make does), or name its program in TIDINGS_PGBOUNCER_BIN")
	return ""
}

// Start runs a PgBouncer that reaches server as direct does, the URL of a database
// by either kind of socket, with poolSize connections to it for each database. It
// returns the URL of that database behind it. It ends with the test.
func Start(t testing.TB, server *pgserver.Server, direct string, poolSize int) string {
	t.Helper()
	program := find(t)
	u, err := url.Parse(direct)
	require.NoError(t, err)
	host := server.SocketDir()
	if u.Hostname() != "" {
		host = u.Hostname()
	}
	dir, err := os.MkdirTemp("", "bouncer")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port := freePort(t)
	// server_login_retry: by default it leaves a server that was down alone for 15 s.
	config := fmt.Sprintf(`[databases]
* = host=%s port=%d user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 500
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
`, host, server.Port(), port, poolSize)
	path := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o644))
	require.NoError(t, os.Chmod(dir, 0o755))

	var log lockedBuffer
	cmd := exec.Command(program, "-q", path)
	cmd.Stdout, cmd.Stderr = &log, &log
	asServerUser(cmd, server.DataDir())
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("pgbouncer: %s", log.String())
		}
	})
	behind := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: fmt.Sprintf("127.0.0.1:%d", port), Path: u.Path, RawQuery: "sslmode=disable"}
	awaitReady(t, behind.String(), &log)
	return behind.String()
}

// ForPGX returns the URL of a database behind a PgBouncer as pgx takes it: it prepares
// statements by itself unless it is told not to.
func ForPGX(behind string) (string, error) {
	u, err := url.Parse(behind)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("default_query_exec_mode", "exec")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

func awaitReady(t testing.TB, url string, log *lockedBuffer) {
	t.Helper()
	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for db.PingContext(ctx) != nil {
		select {
		case <-ctx.Done():
			t.Fatalf("pgbouncer does not answer: %s", log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
