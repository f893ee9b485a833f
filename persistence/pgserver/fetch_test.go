//go:build unix

package pgserver

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
	"github.com/stretchr/testify/require"
)

func TestFetchReleaseTakesMajorsAndWholeVersions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		asked   string
		major   int // of a data folder
		version embeddedpostgres.PostgresVersion
		want    int
		problem string
	}{
		{"17", 0, embeddedpostgres.V17, 17, ""},
		{"17.4", 0, "17.4.0", 17, ""},
		{"17.4.1", 0, "17.4.1", 17, ""},
		{"19.1", 0, "19.1.0", 19, ""},
		{"17.4", 17, "17.4.0", 17, ""},
		{"17.4", 15, embeddedpostgres.V15, 15, ""}, // the data decide
		{"19", 0, "", 0, "knows no release of 19"},
		{"17", 19, "", 0, "knows no release of 19"},
		{"13", 0, "", 0, "need 14 or newer"},
		{"latest", 0, "", 0, "want such as 17"},
		{"../17", 0, "", 0, "want such as 17"},
		{"17.4.1.2", 0, "", 0, "want such as 17"},
	} {
		got, err := fetchRelease(test.asked, test.major)
		if test.problem != "" {
			require.ErrorContains(t, err, test.problem, test.asked)
			continue
		}
		require.NoError(t, err, test.asked)
		require.Equal(t, release{test.version, test.want}, got, test.asked)
	}
}

func TestEveryFetchableReleaseIsOfItsMajor(t *testing.T) {
	t.Parallel()
	require.Contains(t, fetchable, DefaultFetchMajor)
	for major, version := range fetchable {
		require.True(t, strings.HasPrefix(string(version), strconv.Itoa(major)+"."), "%d: %s", major, version)
	}
}

func TestFetchReportsAllWrongSettingsWithoutPasswords(t *testing.T) {
	t.Parallel()
	for _, repository := range []string{"repo.example", "ftp://me:secret@repo.example", "http://me:secret@%", "https://me:secret@repo.example?x"} {
		_, err := Fetch(t.Context(), FetchConfig{Repository: repository, Version: "new", Dir: t.TempDir()})
		require.ErrorContains(t, err, "repository of PostgreSQL binaries")
		require.ErrorContains(t, err, "version of PostgreSQL to fetch")
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestFetchedBinariesOfRootAreNotKeptInItsHome(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/home/of/somebody")
	require.Equal(t, []string{"/chosen"}, cachePlaces("/chosen"))
	places := cachePlaces("")
	require.Len(t, places, 2)
	if os.Geteuid() == 0 {
		require.NotContains(t, places[0], "/home/of/somebody")
	}
	require.Equal(t, os.TempDir(), filepath.Dir(places[1]))
}

func TestStartFetchesOnlyWhereItIsAllowed(t *testing.T) {
	found, err := Find()
	require.NoError(t, err)
	dead := &FetchConfig{Repository: "http://127.0.0.1:1", Dir: openTemp(t)}

	start(t, Config{Fetch: dead}) // the installed ones do

	t.Setenv(binEnv, "/nowhere")
	_, err = Start(t.Context(), Config{Fetch: dead})
	require.ErrorIs(t, err, ErrNoBinaries)
	require.NotContains(t, err.Error(), "fetching")

	t.Setenv(binEnv, fetchedOnly)
	t.Setenv(repositoryEnv, dead.Repository)
	t.Setenv(cacheEnv, dead.Dir)
	_, err = Find()
	require.ErrorIs(t, err, ErrNoBinaries)
	require.ErrorContains(t, err, "asks for fetched ones only")
	_, err = Start(t.Context(), Config{})
	var failed *FetchError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, ErrNoBinaries)

	start(t, Config{Binaries: found}) // named in code: nothing is looked for
}

func TestRelayAnswersTheLibraryAlone(t *testing.T) {
	t.Parallel()
	repository, err := parseRepository("http://127.0.0.1:1")
	require.NoError(t, err)
	r, err := startRelay(t.Context(), &fetch{repository: repository})
	require.NoError(t, err)
	defer r.stop()
	response, err := http.Get(strings.TrimSuffix(r.url(), r.prefix) + "/io/zonky")
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.Empty(t, r.firstURL())
}
