//go:build unix

package pgserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindFollowsALinkInPATHToTheInstallation(t *testing.T) {
	found, err := Find()
	require.NoError(t, err)
	require.GreaterOrEqual(t, found.Major, MinMajor)
	links := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.Symlink(found.path(name), filepath.Join(links, name)))
	}
	t.Setenv("PATH", links)
	again, err := Find()
	require.NoError(t, err)
	require.Equal(t, found, again)
}

func TestFindAcceptsAFolderOfLinks(t *testing.T) {
	found, err := Find()
	require.NoError(t, err)
	links := t.TempDir()
	for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
		require.NoError(t, os.Symlink(found.path(name), filepath.Join(links, name)))
	}
	t.Setenv(binEnv, links)
	again, err := Find()
	require.NoError(t, err)
	require.Equal(t, found, again)
}

func TestFindLooksAtTheUsualPlacesWithoutPATH(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dirs, _ := usualDirs()
	if len(dirs) == 0 {
		t.Log("nothing in the usual places here")
		return
	}
	found, err := Find()
	require.NoError(t, err)
	require.FileExists(t, found.path("initdb"))
}

func TestFindNamesEveryPlaceAndWhatToInstall(t *testing.T) {
	t.Setenv(binEnv, "/nowhere")
	_, err := Find()
	require.ErrorIs(t, err, ErrNoBinaries)
	require.ErrorContains(t, err, "/nowhere: no initdb there")
	require.ErrorContains(t, err, "nothing else was tried")

	t.Setenv(binEnv, "")
	t.Setenv("PATH", t.TempDir())
	_, err = find(99)
	require.ErrorIs(t, err, ErrNoBinaries)
	for _, part := range []string{"PATH: no initdb", "PATH: no pg_config", "install: ", "$" + binEnv, "version 99"} {
		require.ErrorContains(t, err, part)
	}
	for goos, part := range map[string]string{"linux": "apt-get", "darwin": "brew", "windows": "winget"} {
		require.Contains(t, installHint(goos), part)
		patterns := usualPatterns(goos, func(name string) string { return "/" + name })
		require.NotEmpty(t, patterns)
	}
}

func TestInspectRefusesWhatIsNoServer(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"echo 'postgres (PostgreSQL) 13.1'": "is version 13",
		"echo something else":               "something else",
		"exit 1":                            "exit status 1",
	} {
		dir := t.TempDir()
		for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		}
		_, err := inspect(dir)
		require.ErrorContains(t, err, want)
	}
}
