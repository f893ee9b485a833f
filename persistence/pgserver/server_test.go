//go:build unix

package pgserver

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"
)

func TestAnURLReachesADatabaseOfAnyName(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Port: -1})
	for _, name := range []string{"plain", `a "b" 'c'/d?e=%2F&ü\`, "tab\there"} {
		require.NoError(t, s.CreateDatabase(t.Context(), name, ""))
		for _, address := range []string{s.URL(name), s.TCPURL(name)} {
			db := open(t, address)
			require.Equal(t, name, text(t, db, `SELECT current_database()`))
			require.Equal(t, "postgres true UTC", text(t, db,
				`SELECT current_user || ' ' || usesuper || ' ' || current_setting('TimeZone')
				 FROM pg_user WHERE usename = current_user`))
		}
	}
	require.Equal(t, "", text(t, open(t, s.URL("postgres")), `SELECT coalesce(host(inet_client_addr()), '')`))
	require.Equal(t, loopback, text(t, open(t, s.TCPURL("postgres")), `SELECT host(inet_client_addr())`))
}

// TestTheURLHasTheShapePgxReads: pgx v5 takes host and port from the query where
// the authority has none, the database from the path, sslmode by name, and
// sends unknown keys such as timezone as run-time parameters.
func TestTheURLHasTheShapePgxReads(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	u, err := url.Parse(s.URL("some name"))
	require.NoError(t, err)
	require.Equal(t, "postgres", u.Scheme)
	require.Equal(t, "postgres", u.User.Username())
	require.Empty(t, u.Host)
	require.Equal(t, "/some name", u.Path)
	require.Equal(t, url.Values{
		"host": {s.SocketDir()}, "port": {strconv.Itoa(s.Port())}, "sslmode": {"disable"}, "timezone": {"UTC"},
	}, u.Query())
	require.Empty(t, s.TCPURL("x"), "no TCP unless asked for")
}

func TestATemplateIsCopiedAndADropEndsSessions(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	require.NoError(t, s.CreateDatabase(t.Context(), "source", ""))
	source, err := sql.Open("postgres", s.URL("source"))
	require.NoError(t, err)
	run(t, source, `CREATE TABLE kept AS SELECT 'value' AS v`)
	require.NoError(t, source.Close())
	require.NoError(t, s.CreateDatabase(t.Context(), "copy", "source"))
	copied := open(t, s.URL("copy"))
	require.Equal(t, "value", text(t, copied, `SELECT v FROM kept`))
	var exists *pq.Error
	require.ErrorAs(t, s.CreateDatabase(t.Context(), "copy", ""), &exists)
	require.EqualValues(t, "42P04", exists.Code)
	require.NoError(t, s.DropDatabase(t.Context(), "copy"))
	require.NoError(t, s.DropDatabase(t.Context(), "copy"))
	require.Error(t, copied.PingContext(t.Context()))
}

func TestCommittedDataSurvivesCrashAndRestart(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Port: -1})
	db := open(t, s.URL("postgres"))
	address, tcp, pid := s.URL("postgres"), s.TCPURL("postgres"), s.PID()
	run(t, db, `CREATE TABLE kept AS SELECT 'value' AS v`)
	open1, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = open1.ExecContext(t.Context(), `UPDATE kept SET v = 'uncommitted'`)
	require.NoError(t, err)

	require.NoError(t, s.Crash(t.Context()))
	require.Zero(t, s.PID())
	require.False(t, alive(pid))
	require.Error(t, db.PingContext(t.Context()))
	require.Error(t, open1.Commit())
	require.ErrorIs(t, s.Crash(t.Context()), ErrNotRunning)
	require.ErrorIs(t, s.Shutdown(t.Context()), ErrNotRunning)

	for _, stop := range []func() error{
		func() error { return nil }, // crashed above
		func() error { return nil }, // running: a fast restart
		func() error { return s.Shutdown(t.Context()) },
	} {
		require.NoError(t, stop())
		require.NoError(t, s.Restart(t.Context()))
		require.NotEqual(t, pid, s.PID())
		require.Equal(t, address, s.URL("postgres"))
		require.Equal(t, tcp, s.TCPURL("postgres"))
		require.Equal(t, "value", text(t, open(t, s.URL("postgres")), `SELECT v FROM kept`))
	}
}

func TestAServerKilledFromOutsideCanBeRestarted(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	db := open(t, s.URL("postgres"))
	for range 3 {
		conn, err := db.Conn(t.Context()) // a backend to be orphaned
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		process, err := os.FindProcess(s.PID())
		require.NoError(t, err)
		require.NoError(t, process.Kill())
		eventually(t, func() bool { return s.PID() == 0 }, "the end goes unnoticed")
		require.NoError(t, s.Restart(t.Context()))
		require.NoError(t, s.ping(t.Context()))
	}
}

func TestStopRemovesEverythingAndMayBeCalledTwice(t *testing.T) {
	t.Parallel()
	for name, ctx := range map[string]func() context.Context{
		"live context": t.Context,
		"ended context": func() context.Context {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Config{})
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { _ = s.Stop(ctx()) })
			}
			wg.Wait()
			require.NoError(t, s.Stop(t.Context()))
			require.NoDirExists(t, s.SocketDir())
			require.NoDirExists(t, s.DataDir())
			require.Empty(t, users(t, s.DataDir()))
			require.Zero(t, s.PID())
			require.ErrorIs(t, s.Restart(t.Context()), ErrStopped)
			require.ErrorIs(t, s.Crash(t.Context()), ErrStopped)
		})
	}
}

func TestStopKillsAServerThatDoesNotReact(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	require.NoError(t, exec.Command("kill", "-s", "STOP", strconv.Itoa(s.PID())).Run())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Stop(ctx))
	eventually(t, func() bool { return len(users(t, s.DataDir())) == 0 }, "a process is left")
	require.NoDirExists(t, s.SocketDir())
}

func TestSettingsApplyAndDurabilityIsOffUnlessAsked(t *testing.T) {
	t.Parallel()
	const query = `SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings
		WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'work_mem', 'application_name')`
	s := start(t, Config{Settings: map[string]string{"work_mem": "9MB", "application_name": "it's a 'name' \\"}})
	require.Equal(t, `it's a 'name' \ off off on 9216`, text(t, open(t, s.URL("postgres")), query))
	s = start(t, Config{Durable: true})
	require.Equal(t, ` on on on 4096`, text(t, open(t, s.URL("postgres")), query))
}

func TestSettingsThatCannotBeAreRefusedTogether(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Config{Port: 70000, Settings: map[string]string{
		"Port": "1", "a b": "", "work_mem": "\x00",
	}})
	for _, part := range []string{`"Port" is set by pgserver`, `"a b" is not a name`, "NUL byte", "70000"} {
		require.ErrorContains(t, err, part)
	}
}

func TestAFailedStartQuotesTheLogAndLeavesNothing(t *testing.T) {
	tmp := openTemp(t)
	t.Setenv("TMPDIR", tmp)
	t.Setenv(tempEnv, "")
	listener, err := net.Listen("tcp", loopback+":0")
	require.NoError(t, err)
	defer listener.Close()
	var log bytes.Buffer
	for want, c := range map[string]Config{
		`invalid value for parameter "shared_buffers"`:      {Settings: map[string]string{"shared_buffers": "nonsense"}},
		`unrecognized configuration parameter "no_setting"`: {Settings: map[string]string{"no_setting": "1"}, Log: &log},
		`Address already in use`:                            {Port: listener.Addr().(*net.TCPAddr).Port},
	} {
		_, err = Start(t.Context(), c)
		var failed *StartError
		require.ErrorAs(t, err, &failed)
		require.ErrorContains(t, err, want)
		require.Contains(t, failed.LogTail, want)
	}
	require.Contains(t, log.String(), "no_setting")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Start(ctx, Config{})
	require.ErrorIs(t, err, context.Canceled)
	entries, err := os.ReadDir(tmp)
	require.NoError(t, err)
	for _, entry := range entries {
		require.False(t, strings.HasPrefix(entry.Name(), runPrefix), entry.Name())
	}
	require.Empty(t, users(t, tmp))
}

// syncBuffer is a writer that a test reads while the server writes.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Write(p)
	return 0, errors.New("an error that must not stop the server")
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestTheLogGoesWhereAsked(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	s := start(t, Config{Log: &log})
	require.Empty(t, s.LogFile())
	run(t, open(t, s.URL("postgres")), `DO $$ BEGIN RAISE WARNING 'to the writer'; END $$`)
	eventually(t, func() bool { return strings.Contains(log.String(), "to the writer") }, "log does not arrive")
	s = start(t, Config{})
	run(t, open(t, s.URL("postgres")), `DO $$ BEGIN RAISE WARNING 'to the file'; END $$`)
	eventually(t, func() bool {
		content, err := os.ReadFile(s.LogFile())
		return err == nil && bytes.Contains(content, []byte("to the file"))
	}, "log does not arrive")
}
