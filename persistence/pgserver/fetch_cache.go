package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// completeName is the file in a fetched folder that says what belongs there.
const completeName = "tidings.complete"

// lockInterval is how often a fetch asks whether another one has ended.
const lockInterval = 50 * time.Millisecond

// fetch is one fetch under way.
type fetch struct {
	repository *url.URL
	release    release
	log        *slog.Logger
	entry      string // folder in which the binaries are to appear

	received atomic.Int64           // bytes of the download
	stepName atomic.Pointer[string] // for the announcement
}

func (f *fetch) enter(step string) { f.stepName.Store(&step) }

func (f *fetch) step() string {
	if step := f.stepName.Load(); step != nil {
		return *step
	}
	return ""
}

// run fetches into a folder beside the entry and renames it; only the holder of
// the lock does so.
func (f *fetch) run(ctx context.Context) (Binaries, error) {
	f.enter("waiting for another process")
	lock, err := awaitLock(ctx, f.entry+".lock")
	if err != nil {
		return Binaries{}, fmt.Errorf("fetch PostgreSQL: %w", err)
	}
	defer lock.release()
	if found, err := openFetched(f.entry); err == nil {
		return found, nil // another process was faster
	}
	if err := removeUnfinished(f.entry); err != nil {
		return Binaries{}, fmt.Errorf("fetch PostgreSQL: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(f.entry), filepath.Base(f.entry)+".new-")
	if err != nil {
		return Binaries{}, fmt.Errorf("fetch PostgreSQL: %w", err)
	}
	defer os.RemoveAll(work)
	began := time.Now()
	tree, from, err := f.download(ctx, work)
	if err == nil {
		err = f.finish(tree)
	}
	if err != nil && ctx.Err() != nil {
		return Binaries{}, fmt.Errorf("fetch PostgreSQL from %s: %w after %d bytes", from, context.Cause(ctx), f.received.Load())
	}
	if err != nil {
		return Binaries{}, &FetchError{URL: from, Err: err}
	}
	f.log.InfoContext(ctx, "fetched PostgreSQL", slog.String("version", string(f.release.version)),
		slog.String("dir", f.entry), slog.Duration("took", time.Since(began)))
	return openFetched(f.entry)
}

// finish checks that an unpacked tree runs here, opens it to the server's user,
// records what belongs to it and makes it the entry.
func (f *fetch) finish(tree string) error {
	f.enter("checking")
	if err := openModes(tree); err != nil {
		return err
	}
	found, err := inspect(filepath.Join(tree, "bin"))
	if err != nil {
		return fmt.Errorf("the fetched binaries do not run on this system: %w", err)
	}
	if found.Major != f.release.major {
		return fmt.Errorf("the archive holds version %d, was to hold %d", found.Major, f.release.major)
	}
	sum, err := measure(tree)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tree, completeName), []byte(sum.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(tree, f.entry)
}

// openFetched returns the binaries of a fetched folder if it is whole. A power
// loss or a cleaner of temporary files may have taken parts.
func openFetched(entry string) (Binaries, error) {
	info, err := os.Lstat(entry)
	if err != nil {
		return Binaries{}, err
	}
	if !info.IsDir() || !trusted(info) {
		return Binaries{}, fmt.Errorf("%s is not a folder that this user alone may write", entry)
	}
	want, err := os.ReadFile(filepath.Join(entry, completeName))
	if err != nil {
		return Binaries{}, err
	}
	got, err := measure(entry)
	if err != nil {
		return Binaries{}, err
	}
	if got.String() != string(want) {
		return Binaries{}, fmt.Errorf("%s has %s, was fetched with %s", entry, got, want)
	}
	return inspect(filepath.Join(entry, "bin"))
}

// measure counts the files of a tree, without the record of what they were.
func measure(tree string) (sum total, err error) {
	err = filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == filepath.Join(tree, completeName) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		sum.files++
		sum.bytes += info.Size()
		return nil
	})
	return sum, err
}

// openModes lets every user read a tree and nobody else write it, whatever
// umask it was unpacked with and whatever modes the archive had.
func openModes(tree string) error {
	return filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir() || info.Mode().Perm()&0o111 != 0:
			return os.Chmod(path, 0o755)
		case info.Mode().IsRegular():
			return os.Chmod(path, 0o644)
		default:
			return fmt.Errorf("archive holds %s, which is neither file nor folder", path)
		}
	})
}

// removeUnfinished removes a damaged entry and what killed fetches left. The
// caller holds the lock.
func removeUnfinished(entry string) error {
	siblings, err := os.ReadDir(filepath.Dir(entry))
	if err != nil {
		return err
	}
	errs := []error{os.RemoveAll(entry)}
	for _, sibling := range siblings {
		if strings.HasPrefix(sibling.Name(), filepath.Base(entry)+".new-") {
			errs = append(errs, os.RemoveAll(filepath.Join(filepath.Dir(entry), sibling.Name())))
		}
	}
	return errors.Join(errs...)
}

// awaitLock takes a lock, waiting for whoever holds it; death releases it.
func awaitLock(ctx context.Context, path string) (*fileLock, error) {
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for {
		lock, err := lockFile(path)
		if !errors.Is(err, errLocked) {
			return lock, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the process that holds %s: %w", path, context.Cause(ctx))
		}
	}
}

// cacheFolder makes the folder of fetched releases, in the first place that
// fits, and makes sure that the server's user can enter it.
func (c FetchConfig) cacheFolder(a *account) (string, error) {
	var problems []error
	for _, dir := range cachePlaces(cmp.Or(c.Dir, os.Getenv(cacheEnv))) {
		resolved, err := prepareCache(dir, a)
		if err == nil {
			return resolved, nil
		}
		problems = append(problems, err)
	}
	return "", fmt.Errorf("folder for fetched PostgreSQL binaries: %w\nset $%s to another", errors.Join(problems...), cacheEnv)
}

func cachePlaces(chosen string) []string {
	if chosen != "" {
		return []string{chosen}
	}
	var places []string
	switch user, err := os.UserCacheDir(); {
	case runtime.GOOS != "windows" && os.Geteuid() == 0:
		system := "/var/cache"
		if runtime.GOOS == "darwin" {
			system = "/Library/Caches"
		}
		places = append(places, filepath.Join(system, "tidings", "postgresql"))
	case err == nil:
		places = append(places, filepath.Join(user, "tidings", "postgresql"))
	}
	return append(places, filepath.Join(os.TempDir(), "tidings-postgresql-"+strconv.Itoa(os.Geteuid())))
}

func prepareCache(dir string, a *account) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := makeOpen(dir); err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || !trusted(info) {
		return "", fmt.Errorf("%s must be a folder of this user that nobody else may write: what is there is executed", dir)
	}
	return dir, a.checkEnter(dir)
}

// makeOpen makes a folder and its missing parents, open to every user whatever
// the umask.
func makeOpen(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err = makeOpen(filepath.Dir(dir)); err == nil {
			err = os.Mkdir(dir, 0o755)
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	default:
		return os.Chmod(dir, 0o755)
	}
}
