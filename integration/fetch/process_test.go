//go:build unix

package fetch_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/integration/delivery/process"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

// childMain fetches as the environment says, or starts a development database
// in $DEV_DIR, and says how it went.
func childMain() int {
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	slog.SetDefault(log)
	switch process.Role() {
	case "fetch":
		bin, err := pgserver.Fetch(ctx, pgserver.FetchConfig{Logger: log})
		fmt.Println("ended", bin.Dir, err)
	case "dev":
		server, _, err := boot.StartDev(ctx, os.Getenv("DEV_DIR"))
		if err != nil {
			fmt.Println("ended", err)
			return 1
		}
		fmt.Println("ended", server.Binaries().Dir)
		_, _ = io.Copy(io.Discard, os.Stdin)
		if err := server.Stop(ctx); err != nil {
			fmt.Println("stop", err)
		}
	}
	return 0
}

func environment(url, version, cache string) []string {
	return []string{
		"TIDINGS_PG_REPOSITORY=" + url, "TIDINGS_PG_VERSION=" + version, "TIDINGS_PG_CACHE=" + cache,
		"TIDINGS_PG_BIN=fetch",
	}
}

func TestRacingProcessesFetchOnce(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	hold, paused := make(chan struct{}), make(chan struct{}, 1)
	r := &repository{jar: p.jar, hold: hold, pauseAt: 1000, paused: paused}
	cache := folder(t)
	env := environment(r.serve(t), p.version(), cache)
	first := process.Start(t, "fetch", env...)
	<-paused
	others := []*process.Child{process.Start(t, "fetch", env...), process.Start(t, "fetch", env...)}
	for _, other := range others {
		require.Eventually(t, func() bool {
			return strings.Contains(strings.Join(other.Lines("time="), "\n"), `step="waiting for another process"`)
		}, patience, 20*time.Millisecond)
	}
	require.Len(t, contents(t, cache), 1, "the unfinished folder alone")
	close(hold)
	want := first.Expect(1, "ended ")
	require.Contains(t, want[0], "<nil>")
	for _, other := range others {
		require.Equal(t, want, other.Expect(1, "ended "))
	}
	require.EqualValues(t, 1, r.asked.Load())
	require.Len(t, contents(t, cache), 1)
}

// Children that start together without a gate: whichever way they meet, all get
// whole binaries.
func TestRacingProcessesAllGetWholeBinaries(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	cache := folder(t)
	env := environment((&repository{jar: p.jar}).serve(t), p.version(), cache)
	var children []*process.Child
	for range 4 {
		children = append(children, process.Start(t, "fetch", env...))
	}
	for _, child := range children {
		line := child.Expect(1, "ended ")[0]
		require.Contains(t, line, "<nil>")
		dir := strings.Fields(line)[1]
		require.FileExists(t, filepath.Join(dir, "postgres"))
	}
	require.Len(t, contents(t, cache), 1)
}

func TestAFetchKilledWhileDownloadingIsRepeated(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	paused := make(chan struct{}, 1)
	cache := folder(t)
	r := &repository{jar: p.jar, hold: make(chan struct{}), pauseAt: len(p.jar) / 2, paused: paused}
	child := process.Start(t, "fetch", environment(r.serve(t), p.version(), cache)...)
	<-paused
	child.Kill()
	left := contents(t, cache)
	require.Len(t, left, 1)
	require.Contains(t, left[0], ".new-")
	requireFetches(t, p, cache)
}

func TestAFetchKilledWhileUnpackingIsRepeated(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	url := (&repository{jar: p.jar}).serve(t)
	for range 10 { // until the kill comes in time
		cache := folder(t)
		child := process.Start(t, "fetch", environment(url, p.version(), cache)...)
		require.Eventually(t, func() bool {
			unpacked, err := filepath.Glob(filepath.Join(cache, "*.new-*", "tree", "*"))
			return err == nil && len(unpacked) > 0 || len(child.Lines("ended ")) > 0
		}, patience, time.Millisecond)
		child.Kill()
		if left := contents(t, cache); len(left) == 1 && strings.Contains(left[0], ".new-") {
			requireFetches(t, p, cache)
			return
		}
	}
	require.Fail(t, "never killed a fetch that was unpacking")
}

// requireFetches fetches into a folder that a killed process left.
func requireFetches(t *testing.T, p packed, cache string) {
	t.Helper()
	bin, err := pgserver.Fetch(t.Context(), pgserver.FetchConfig{
		Repository: (&repository{jar: p.jar}).serve(t), Version: p.version(), Dir: cache,
	})
	require.NoError(t, err)
	require.Len(t, contents(t, cache), 1, "what was left is gone")
	requireServes(t, bin, cache)
}

func TestTheDevelopmentDatabaseFetchesItsBinaries(t *testing.T) {
	t.Parallel()
	p, err := made()
	require.NoError(t, err)
	r := &repository{jar: p.jar}
	cache := folder(t)
	env := append(environment(r.serve(t), p.version(), cache), "DEV_DIR="+filepath.Join(folder(t), "pgdata"))
	for range 2 { // the second time from the cache, on the data of the first
		child := process.Start(t, "dev", env...)
		line := child.Expect(1, "ended ")[0]
		require.True(t, strings.HasPrefix(line, "ended "+cache+"/"), line)
		child.Kill()
	}
	require.EqualValues(t, 1, r.asked.Load())

	missing := process.Start(t, "dev", append(env, "TIDINGS_PG_BIN=/nowhere")...)
	require.Contains(t, missing.Expect(1, "ended ")[0], "no PostgreSQL server binaries found",
		"a folder that somebody named is not replaced silently")
	env = append(env, "TIDINGS_PG_VERSION=15.1", "TIDINGS_PG_CACHE="+folder(t), "TIDINGS_PG_REPOSITORY=http://127.0.0.1:1")
	child := process.Start(t, "dev", env...)
	child.Expect(1, "ended development database: pgserver: no PostgreSQL server binaries found")
	child.Expect(1, "and fetching them did not succeed:")
	require.Contains(t, child.Expect(1, "fetch PostgreSQL: ")[0], "http://127.0.0.1:1/io/zonky/test/postgres/")
}
