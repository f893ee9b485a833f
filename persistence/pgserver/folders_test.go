//go:build unix

package pgserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAKeptFolderIsReusedAndLockedWhileItsServerLives(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openTemp(t), "a b", "data")
	first, err := Start(t.Context(), Config{DataDir: dir, Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Stop(t.Context())) })
	run(t, open(t, first.URL("postgres")), `CREATE TABLE kept AS SELECT 'value' AS v`)
	_, err = Start(t.Context(), Config{DataDir: dir})
	require.ErrorIs(t, err, ErrInUse)
	running, err := RunningURL(dir, "postgres") // as another process finds it
	require.NoError(t, err)
	require.Equal(t, "value", text(t, open(t, running), `SELECT v FROM kept`))
	require.NoError(t, first.Stop(t.Context()))
	_, err = RunningURL(dir, "postgres")
	require.ErrorContains(t, err, "find the running server")
	require.DirExists(t, dir)
	require.NoDirExists(t, first.SocketDir())

	again := start(t, Config{DataDir: dir})
	require.Equal(t, dir, again.DataDir())
	require.Equal(t, "value", text(t, open(t, again.URL("postgres")), `SELECT v FROM kept`))
	require.FileExists(t, again.LogFile()+".old")
}

func TestAFolderThatIsNotOursIsRefused(t *testing.T) {
	t.Parallel()
	b, err := Find()
	require.NoError(t, err)
	foreign := openTemp(t)
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "letter.txt"), nil, 0o600))
	_, err = Start(t.Context(), Config{DataDir: foreign})
	require.ErrorContains(t, err, "letter.txt")
	require.FileExists(t, filepath.Join(foreign, "letter.txt"))

	older := openTemp(t)
	require.NoError(t, os.WriteFile(filepath.Join(older, "PG_VERSION"), []byte("9\n"), 0o600))
	_, err = Start(t.Context(), Config{DataDir: older, Binaries: b})
	require.ErrorContains(t, err, "made by PostgreSQL 9")
	require.NoError(t, os.WriteFile(filepath.Join(older, "PG_VERSION"), []byte("99\n"), 0o600))
	_, err = Start(t.Context(), Config{DataDir: older})
	require.ErrorIs(t, err, ErrNoBinaries)
	require.ErrorContains(t, err, "need 99")
}

func TestAHalfMadeFolderIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := openTemp(t)
	for _, name := range []string{incompleteName, "PG_VERSION", "half"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("15\n"), 0o600))
	}
	s := start(t, Config{DataDir: dir})
	require.NoError(t, s.ping(t.Context()))
	require.NoFileExists(t, filepath.Join(dir, "half"))
	require.NoFileExists(t, filepath.Join(dir, incompleteName))
}

// TestOnlyTheServersUserAndRootReachTheSocket is what makes trust bearable.
func TestOnlyTheServersUserAndRootReachTheSocket(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	info, err := os.Stat(s.SocketDir())
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	require.EqualValues(t, info.Sys().(*syscall.Stat_t).Uid, ownerOf(t, filepath.Join(s.DataDir(), "PG_VERSION")))
	if os.Geteuid() != 0 {
		return
	}
	require.NotZero(t, info.Sys().(*syscall.Stat_t).Uid, "PostgreSQL does not run as root")
	cmd := exec.Command(shell, "-c", `ls "$1"`, "sh", s.SocketDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "Permission denied")
}

func ownerOf(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Sys().(*syscall.Stat_t).Uid
}

func TestAFolderThatDoesNotFitIsExplainedOrPassedOver(t *testing.T) {
	long := filepath.Join(openTemp(t), strings.Repeat("x", 80))
	require.NoError(t, os.Mkdir(long, 0o755))
	t.Setenv("TMPDIR", long)
	t.Setenv(tempEnv, "")
	s := start(t, Config{})
	require.True(t, strings.HasPrefix(s.SocketDir(), "/tmp/"), s.SocketDir())
	_, err := newRunDirIn(long, nil)
	require.ErrorContains(t, err, "TMPDIR")
	_, err = newRunDirIn(t.TempDir()+"/a,b", nil)
	require.Error(t, err)
	if os.Geteuid() != 0 {
		return
	}
	_, err = newRunDir(long, nil)
	require.Error(t, err, "a chosen folder is not passed over")
	private := filepath.Join(openTemp(t), "private")
	require.NoError(t, os.Mkdir(private, 0o700))
	t.Setenv("TMPDIR", private)
	s = start(t, Config{})
	require.True(t, strings.HasPrefix(s.SocketDir(), "/tmp/"), s.SocketDir())
	_, err = Start(t.Context(), Config{DataDir: filepath.Join(private, "data")})
	require.ErrorContains(t, err, "cannot enter "+private)
	require.ErrorContains(t, err, "o+x")
}

func TestRacingFirstStartsShareOneCacheEntry(t *testing.T) {
	cache := isolateCache(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			s, err := Start(t.Context(), Config{})
			if err == nil {
				err = s.Stop(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, entries, 1, "one entry, no leftovers")
}

func TestADamagedCacheEntryIsMadeAnew(t *testing.T) {
	cache := isolateCache(t)
	require.NoError(t, start(t, Config{}).Stop(t.Context()))
	entries, err := filepath.Glob(filepath.Join(cache, "pg*"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	entry := entries[0]
	for _, damage := range []func() error{
		func() error { return os.Truncate(filepath.Join(entry, "cluster", "global", "pg_control"), 0) },
		func() error { return os.Remove(filepath.Join(entry, "cluster", "PG_VERSION")) },
		func() error { return os.Remove(filepath.Join(entry, "total")) },
		func() error { return os.RemoveAll(filepath.Join(entry, "cluster")) },
	} {
		require.NoError(t, damage())
		require.NoError(t, start(t, Config{}).Stop(t.Context()))
		require.NoError(t, copyVerified(entry, t.TempDir(), nil), "the entry was made anew")
	}
}

func TestACacheThatOthersCouldWriteIsNotUsed(t *testing.T) {
	cache := isolateCache(t)
	require.NoError(t, os.MkdirAll(cache, 0o700))
	spoil := []func() error{
		func() error { return os.Chmod(cache, 0o777) },
		func() error { return os.Rename(cache, cache+".moved") },
	}
	if os.Geteuid() == 0 {
		spoil = append(spoil, func() error { return os.Chown(cache, nobody, nobody) })
	}
	b, err := Find()
	require.NoError(t, err)
	s := &Server{config: Config{Binaries: b}}
	require.NotEmpty(t, s.cacheEntry())
	require.NoError(t, spoil[0]())
	require.Empty(t, s.cacheEntry(), "writable by others")
	require.NoError(t, os.Chmod(cache, 0o700))
	if len(spoil) == 3 {
		require.NoError(t, spoil[2]())
		require.Empty(t, s.cacheEntry(), "owned by someone else")
		require.NoError(t, os.Chown(cache, 0, 0))
	}
	require.NoError(t, spoil[1]())
	require.NoError(t, os.Symlink(cache+".moved", cache))
	require.Empty(t, s.cacheEntry(), "a symlink")
	require.NoError(t, start(t, Config{}).ping(t.Context()), "works without a cache")
}

// isolateCache gives the test a cache folder of its own and returns its path.
func isolateCache(t *testing.T) string {
	tmp := openTemp(t)
	t.Setenv("TMPDIR", tmp)
	t.Setenv(tempEnv, "")
	t.Setenv("XDG_CACHE_HOME", tmp)
	t.Setenv("HOME", tmp)
	return cacheDir()
}
