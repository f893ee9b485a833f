package pgserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// cacheLayout is the version of what is cached and how; raise it to invalidate.
const cacheLayout = 1

var initdbArguments = []string{"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-U", "postgres"}

// fill makes a fresh cluster in s.data: a copy of the cached one, else by
// initdb, whose result is then cached. Without a usable cache it just costs
// initdb's time.
func (s *Server) fill(ctx context.Context) error {
	entry := s.cacheEntry()
	if entry != "" {
		if err := copyVerified(entry, s.data, s.account); err == nil {
			return nil
		} else if !errors.Is(err, os.ErrNotExist) {
			_ = os.RemoveAll(entry) // damaged: a power loss, a cleaner of temporary files
			if err := clearDir(s.data); err != nil {
				return err
			}
		}
	}
	made := filepath.Join(s.run.path, "initdb")
	if err := s.initdb(ctx, made); err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if entry != "" {
		_ = saveEntry(made, entry) // the next start then pays initdb again
	}
	_, err := copyTree(made, s.data, s.account)
	return err
}

// cacheEntry is the path of the cached cluster for these binaries and this
// user, or empty if there is no folder to be trusted.
func (s *Server) cacheEntry() string {
	info, err := os.Stat(s.config.Binaries.path("postgres"))
	if err != nil {
		return ""
	}
	dir := cacheDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	if own, err := os.Lstat(dir); err != nil || !own.IsDir() || !trusted(own) {
		return ""
	}
	hash := sha256.New()
	fmt.Fprintln(hash, cacheLayout, s.config.Binaries, info.Size(), info.ModTime().UnixNano(), initdbArguments)
	return filepath.Join(dir, fmt.Sprintf("pg%d-%s", s.config.Binaries.Major, hex.EncodeToString(hash.Sum(nil)[:8])))
}

// cacheDir belongs to this process's user: the cached files are copied and
// handed to the server's user, never used in place.
func cacheDir() string {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		if dir, err := os.UserCacheDir(); err == nil {
			return filepath.Join(dir, "tidings", "pgserver")
		}
	}
	return filepath.Join(os.TempDir(), "tidings-pgserver-cache-"+strconv.Itoa(os.Geteuid()))
}

// initdb makes a new cluster in dir, which must not exist, as the server's
// user.
func (s *Server) initdb(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	// While initdb runs its user must reach the folder; before and after, when a
	// root parent copies, it must not be able to change what is copied.
	if err := errors.Join(s.account.own(dir), s.account.own(s.run.path)); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	runtime.LockOSThread() // the death signal is the thread's
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, s.config.Binaries.path("initdb"), append([]string{"-D", dir}, initdbArguments...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.run.path, serverEnv(), s.account.attributes()
	killWithParent(cmd.SysProcAttr)
	if err := cmd.Run(); err != nil {
		return &StartError{
			Err:     fmt.Errorf("initdb%s: %w", s.account.suffix(), errors.Join(err, ctx.Err())),
			LogTail: tailOf(out.Bytes()),
		}
	}
	return errors.Join(s.account.reclaim(s.run.path), s.account.reclaim(dir))
}

// saveEntry copies a cluster into the cache; the rename makes it appear whole,
// and of two racing processes one wins.
func saveEntry(made, entry string) error {
	temporary, err := os.MkdirTemp(filepath.Dir(entry), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	cluster := filepath.Join(temporary, "cluster")
	if err := os.Mkdir(cluster, 0o700); err != nil {
		return err
	}
	total, err := copyTree(made, cluster, nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(temporary, "total"), []byte(total.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, entry)
}

// copyVerified copies a cached cluster and compares what it copied with what
// was saved. os.ErrNotExist: there is none.
func copyVerified(entry, to string, a *account) error {
	want, err := os.ReadFile(filepath.Join(entry, "total"))
	if err != nil {
		if _, errEntry := os.Lstat(entry); errEntry == nil {
			return fmt.Errorf("cache entry %s is damaged", entry)
		}
		return os.ErrNotExist
	}
	got, err := copyTree(filepath.Join(entry, "cluster"), to, a)
	if err != nil {
		return fmt.Errorf("copy cached cluster: %v", err) // not %w: a missing part is damage
	}
	if got.String() != string(want) {
		return fmt.Errorf("cache entry %s has %s, was saved with %s", entry, got, want)
	}
	return nil
}
