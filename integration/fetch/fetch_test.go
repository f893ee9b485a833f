//go:build unix

package fetch_test

import (
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver"
)

func TestFetchedBinariesServeAndAreFetchedOnce(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	r := &repository{jar: p.jar}
	log, lines := logger()
	cache := folder(t)
	c := pgserver.FetchConfig{Repository: r.serve(t), Version: p.version(), Dir: cache, Logger: log}
	bin, err := pgserver.Fetch(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, p.installed.Major, bin.Major)
	require.Contains(t, await(t, lines, "fetched PostgreSQL"), "version="+p.version()+".0")
	requireServes(t, bin, cache)
	require.Len(t, contents(t, cache), 1)
	err = filepath.WalkDir(cache, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		require.Zero(t, info.Mode().Perm()&0o022, "%s: others may write", path)
		return err
	})
	require.NoError(t, err)

	r.server.Close()
	again, err := pgserver.Fetch(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, bin, again)
	require.EqualValues(t, 1, r.asked.Load())
}

func TestFetchSaysWhatWentWrongAndLeavesNothing(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	noArchive, err := zipped("readme.txt", []byte("nothing here"))
	require.NoError(t, err)
	noXZ, err := zipped("a.txz", []byte("this is no xz"))
	require.NoError(t, err)
	noServer, err := zipped("a.txz", storedXZ(make([]byte, 1024))) // an empty tar
	require.NoError(t, err)
	damaged := append([]byte(nil), p.jar...)
	for i := range 64 { // in the middle of the archive: some files are unpacked before
		damaged[len(damaged)/2+i] ^= 0xff
	}
	otherMajor := map[bool]string{true: "14.77", false: "16.77"}[p.installed.Major == 16]
	for name, test := range map[string]struct {
		repository *repository
		version    string
		want       string
	}{
		"no such version":         {&repository{jarCode: http.StatusNotFound}, "", "404 Not Found"},
		"forbidden":               {&repository{jarCode: http.StatusForbidden}, "", "403 Forbidden"},
		"page instead of a jar":   {&repository{jar: []byte("<html>log in first</html>")}, "", "not a valid zip file"},
		"broken connection":       {&repository{jar: p.jar, breakAt: len(p.jar) / 2}, "", "unexpected EOF"},
		"jar without archive":     {&repository{jar: noArchive}, "", "cannot find binary in archive"},
		"archive of another kind": {&repository{jar: noXZ}, "", "xz: file format not recognized"},
		"damaged archive":         {&repository{jar: damaged, sumCode: http.StatusNotFound}, "", "zip: checksum error"},
		"wrong checksum":          {&repository{jar: p.jar, checksum: strings.Repeat("0", 64)}, "", "checksums do not match"},
		"checksum not readable":   {&repository{jar: p.jar, sumCode: http.StatusInternalServerError}, "", "500 Internal Server Error"},
		"no server in it":         {&repository{jar: noServer}, "", "no initdb there"},
		"another version in it":   {&repository{jar: p.jar}, otherMajor, "archive holds version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := folder(t)
			url := test.repository.serve(t)
			version := test.version
			if version == "" {
				version = p.version()
			}
			c := pgserver.FetchConfig{Repository: url, Version: version, Dir: cache}
			_, err := pgserver.Fetch(t.Context(), c)
			require.ErrorContains(t, err, test.want)
			var failed *pgserver.FetchError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, strings.TrimSuffix(url, "/maven/")+*test.repository.lastJar.Load(), failed.URL)
			require.ErrorContains(t, err, failed.URL)
			require.ErrorContains(t, err, "install: ")
			require.Empty(t, contents(t, cache))

			if name == "damaged archive" {
				c.Repository = (&repository{jar: p.jar}).serve(t)
				_, err = pgserver.Fetch(t.Context(), c)
				require.NoError(t, err, "works when the repository does")
			}
		})
	}
}

func TestFetchWithoutANetworkNamesTheURL(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	cache := folder(t)
	_, err = pgserver.Fetch(t.Context(), pgserver.FetchConfig{Repository: "http://me:secret@" + address, Dir: cache})
	var failed *pgserver.FetchError
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, err, address+"/io/zonky/test/postgres/embedded-postgres-binaries-")
	require.ErrorContains(t, err, "install: ")
	require.NotContains(t, err.Error(), "secret")
	require.Empty(t, contents(t, cache))
}

func TestFetchLogsInAtAPrivateRepository(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	url := (&repository{jar: p.jar, user: "me"}).serve(t)
	c := pgserver.FetchConfig{Repository: strings.Replace(url, "http://", "http://me:secret@", 1), Version: p.version(), Dir: folder(t)}
	_, err = pgserver.Fetch(t.Context(), c)
	require.NoError(t, err)
	c.Repository, c.Dir = strings.Replace(url, "http://", "http://you:secret@", 1), folder(t)
	_, err = pgserver.Fetch(t.Context(), c)
	require.ErrorContains(t, err, "401 Unauthorized")
	require.NotContains(t, err.Error(), "secret")
}

func TestFetchWarnsOfAMissingChecksum(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	log, lines := logger()
	_, err = pgserver.Fetch(t.Context(), pgserver.FetchConfig{
		Repository: (&repository{jar: p.jar, sumCode: http.StatusNotFound}).serve(t),
		Version:    p.version(), Dir: folder(t), Logger: log,
	})
	require.NoError(t, err)
	await(t, lines, "repository has no checksum")
}

func TestFetchTellsThatItTakesLong(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	hold := make(chan struct{})
	log, lines := logger()
	url := (&repository{jar: p.jar, hold: hold, pauseAt: 1000}).serve(t)
	ended := make(chan error, 1)
	go func() {
		_, err := pgserver.Fetch(t.Context(), pgserver.FetchConfig{Repository: url, Version: p.version(), Dir: folder(t), Logger: log})
		ended <- err
	}()
	line := await(t, lines, "fetching PostgreSQL")
	require.Contains(t, line, "repository="+url)
	require.Contains(t, line, "step=downloading")
	close(hold)
	require.NoError(t, <-ended)
}

func TestFetchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	paused := make(chan struct{}, 1)
	cache := folder(t)
	c := pgserver.FetchConfig{
		Repository: (&repository{jar: p.jar, hold: make(chan struct{}), pauseAt: 1000, paused: paused}).serve(t),
		Version:    p.version(), Dir: cache,
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := pgserver.Fetch(ctx, c)
		ended <- err
	}()
	<-paused
	waiting, stopWaiting := context.WithCancel(t.Context())
	stopWaiting()
	_, err = pgserver.Fetch(waiting, c) // behind the lock of the other
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "wait for the process that holds")
	cancel()
	err = <-ended
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "embedded-postgres-binaries-")
	require.NotContains(t, err.Error(), "install: ", "who cancels needs no advice")
	require.Empty(t, contents(t, cache))
}

func TestFetchReplacesADamagedFolder(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	r := &repository{jar: p.jar}
	cache := folder(t)
	c := pgserver.FetchConfig{Repository: r.serve(t), Version: p.version(), Dir: cache}
	bin, err := pgserver.Fetch(t.Context(), c)
	require.NoError(t, err)
	entry := filepath.Join(cache, contents(t, cache)[0])
	for i, damage := range []func() error{
		func() error { return os.Remove(filepath.Join(entry, "tidings.complete")) },
		func() error { return os.Truncate(filepath.Join(bin.Dir, "pg_ctl"), 0) },
		func() error { return os.Remove(filepath.Join(entry, "bin", "initdb")) },
		func() error { return os.Chmod(entry, 0o777) },
	} {
		require.NoError(t, damage())
		again, err := pgserver.Fetch(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, bin, again)
		require.EqualValues(t, i+2, r.asked.Load())
	}
	requireServes(t, bin, cache)
}

func TestFetchRefusesAFolderThatDoesNotFitBeforeItDownloads(t *testing.T) {
	t.Parallel()
	r := &repository{}
	c := pgserver.FetchConfig{Repository: r.serve(t), Dir: folder(t)}
	require.NoError(t, os.Chmod(c.Dir, 0o777))
	_, err := pgserver.Fetch(t.Context(), c)
	require.ErrorContains(t, err, "nobody else may write")
	require.ErrorContains(t, err, "TIDINGS_PG_CACHE")
	if os.Geteuid() == 0 {
		home := folder(t)
		require.NoError(t, os.Chmod(home, 0o700))
		c.Dir = filepath.Join(home, ".cache", "pg")
		_, err = pgserver.Fetch(t.Context(), c)
		require.ErrorContains(t, err, "cannot enter "+c.Dir)
	}
	require.Zero(t, r.asked.Load())
}
