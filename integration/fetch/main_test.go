//go:build unix

package fetch_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tidings-go/tidings/integration/delivery/process"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

const patience = time.Minute

func TestMain(m *testing.M) {
	if process.Role() != "" {
		os.Exit(childMain())
	}
	goleak.VerifyTestMain(runner{m})
}

// runner gives the tests a temporary folder of their own, that every user may
// enter: embedded-postgres leaves an empty log file there.
type runner struct{ m *testing.M }

func (r runner) Run() int {
	syscall.Umask(0o077)                        // the hardest: what is fetched must be open nevertheless
	dir, err := temporary(pgserver.MemoryDir()) // a quiet disk is as good, a busy one ten times slower
	if err != nil {
		dir, err = temporary("/tmp")
	}
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return r.m.Run()
}

// temporary makes a folder in which programs may run, unlike /dev/shm in some
// containers.
func temporary(base string) (dir string, err error) {
	if base == "" {
		return "", errors.New("no folder")
	}
	if dir, err = os.MkdirTemp(base, "tf-"); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "program")
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	if err == nil {
		err = exec.Command(program).Run()
	}
	if err != nil {
		_ = os.RemoveAll(dir)
	}
	return dir, err
}

// made is the package, made once.
var made = sync.OnceValues(func() (packed, error) {
	jar, installed, err := pack(context.Background())
	return packed{jar, installed}, err
})

type packed struct {
	jar       []byte
	installed pgserver.Binaries
}

// version is a release of the installed major that embedded-postgres need not
// know.
func (p packed) version() string { return fmt.Sprintf("%d.77", p.installed.Major) }

// folder is a cache folder that every user may enter.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cache-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// contents are what a cache folder holds beside locks.
func contents(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".lock") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// requireServes starts a server with fetched binaries and asks it.
func requireServes(t *testing.T, bin pgserver.Binaries, cache string) {
	t.Helper()
	require.True(t, strings.HasPrefix(bin.Dir, cache+"/"), bin.Dir)
	server, err := pgserver.Start(t.Context(), pgserver.Config{Binaries: bin, TempDir: pgserver.MemoryDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Stop(context.Background())) }()
	requireRunsFrom(t, server, cache)
}

// requireRunsFrom makes sure that a server has program, shared files and
// libraries from a folder, and works.
func requireRunsFrom(t *testing.T, server *pgserver.Server, cache string) {
	t.Helper()
	db, err := sql.Open("postgres", server.URL("postgres"))
	require.NoError(t, err)
	defer db.Close()
	for _, name := range []string{"BINDIR", "SHAREDIR", "PKGLIBDIR"} {
		var dir string
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT setting FROM pg_config WHERE name = $1`, name).Scan(&dir))
		require.True(t, strings.HasPrefix(dir, cache+"/"), "%s is %s", name, dir)
	}
	var n int
	_, err = db.ExecContext(t.Context(), `DO $$ BEGIN CREATE TABLE t AS SELECT to_tsvector('english', 'runs') AS v; END $$`)
	require.NoError(t, err, "plpgsql.so and dict_snowball.so are found")
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM t WHERE v @@ 'run'`).Scan(&n))
	require.Equal(t, 1, n)
	if os.Geteuid() == 0 {
		info, err := os.Stat(filepath.Join(server.DataDir(), "PG_VERSION"))
		require.NoError(t, err)
		stat, ok := info.Sys().(*syscall.Stat_t)
		require.True(t, ok)
		require.NotZero(t, stat.Uid, "runs as an unprivileged user")
	}
}

// records hands each log line on.
type records struct {
	slog.Handler
	lines chan<- string
}

func (r records) Handle(_ context.Context, record slog.Record) error {
	line := record.Message
	record.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	select {
	case r.lines <- line:
	default:
	}
	return nil
}

// logger keeps the lines in a channel with room.
func logger() (*slog.Logger, <-chan string) {
	lines := make(chan string, 100)
	return slog.New(records{slog.Default().Handler(), lines}), lines
}

// await returns the first line with a text.
func await(t *testing.T, lines <-chan string, text string) string {
	t.Helper()
	for late := time.After(patience); ; {
		select {
		case line := <-lines:
			if strings.Contains(line, text) {
				return line
			}
		case <-late:
			require.Fail(t, "never logged", text)
		}
	}
}
