package pgserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// total is what a copy moved; a damaged source shows in it.
type total struct {
	files int
	bytes int64
}

func (t total) String() string { return fmt.Sprintf("%d files, %d bytes", t.files, t.bytes) }

// copyTree copies the content of folder from into the existing folder to, all
// with mode 0700 and 0600, and hands it to the account. The target folder itself
// is handed over last: until then only this user can write there.
func copyTree(from, to string, a *account) (total, error) {
	var (
		sum   total
		files []string
		dirs  []string
	)
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		switch {
		case err != nil || name == ".":
			return err
		case entry.IsDir():
			dirs = append(dirs, name)
			return os.Mkdir(filepath.Join(to, name), 0o700)
		case entry.Type().IsRegular():
			files = append(files, name)
			return nil
		default:
			return fmt.Errorf("%s is neither file nor folder", path)
		}
	})
	if err != nil {
		return sum, err
	}
	sum.files = len(files)
	if sum.bytes, err = copyFiles(from, to, files, a); err != nil {
		return sum, err
	}
	for _, name := range dirs {
		if err := a.own(filepath.Join(to, name)); err != nil {
			return sum, err
		}
	}
	return sum, a.own(to)
}

// copyFiles copies the named files with a few goroutines and returns their
// size.
func copyFiles(from, to string, names []string, a *account) (int64, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		bytes int64
		errs  []error
		next  = make(chan string)
	)
	for range min(4, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for name := range next {
				n, err := copyFile(filepath.Join(from, name), filepath.Join(to, name), a)
				mu.Lock()
				bytes += n
				if err != nil && len(errs) == 0 {
					errs = append(errs, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, name := range names {
		next <- name
	}
	close(next)
	wg.Wait()
	return bytes, errors.Join(errs...)
}

func copyFile(from, to string, a *account) (int64, error) {
	source, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(target, source)
	return n, errors.Join(err, target.Close(), a.own(to))
}

// clearDir empties a folder but for this package's own marks.
func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == lockName || entry.Name() == incompleteName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
