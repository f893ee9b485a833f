package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// incompleteName marks a data folder whose filling was interrupted.
const incompleteName = "tidings.incomplete"

// predecessorBudget is how long a start waits for the server of a dead parent
// to finish its shutdown.
const predecessorBudget = 15 * time.Second

// dataMajor is the major version that made a data folder, zero if it is none.
func dataMajor(dir string) (int, error) {
	content, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("data folder: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("data folder %s: PG_VERSION says %q", dir, content)
	}
	return major, nil
}

// openDataDir locks and, where needed, fills the kept data folder.
func (s *Server) openDataDir(ctx context.Context) error {
	dir := s.data
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { // the server's user must pass
		return fmt.Errorf("make data folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make data folder: %w", err)
	}
	if err := s.account.checkEnter(filepath.Dir(dir)); err != nil {
		return err
	}
	lock, err := lockFile(filepath.Join(dir, lockName))
	if errors.Is(err, errLocked) {
		return fmt.Errorf("%w: %s%s", ErrInUse, dir, byPID(readPID(dir)))
	}
	if err != nil {
		return fmt.Errorf("lock data folder: %w", err)
	}
	s.dataLock = lock
	if err := awaitPredecessor(ctx, dir); err != nil {
		return err
	}
	incomplete := fileExists(filepath.Join(dir, incompleteName))
	if major, err := dataMajor(dir); err != nil {
		return err
	} else if major != 0 && !incomplete {
		if major != s.config.Binaries.Major {
			return fmt.Errorf("data folder %s was made by PostgreSQL %d, the binaries in %s are %d: "+
				"use binaries of that version, or another folder",
				dir, major, s.config.Binaries.Dir, s.config.Binaries.Major)
		}
		return nil
	}
	return s.fillDataDir(ctx, incomplete)
}

// fillDataDir makes a new cluster in the kept folder. Killed half-way it leaves
// a mark, by which the next start begins anew.
func (s *Server) fillDataDir(ctx context.Context, incomplete bool) error {
	entries, err := os.ReadDir(s.data)
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == lockName || entry.Name() == incompleteName {
			continue
		}
		if !incomplete {
			return fmt.Errorf("data folder %s holds %s but is no PostgreSQL data folder: choose an empty one",
				s.data, entry.Name())
		}
		if err := os.RemoveAll(filepath.Join(s.data, entry.Name())); err != nil {
			return fmt.Errorf("clear half-made data folder: %w", err)
		}
	}
	if err := os.Chmod(s.data, 0o700); err != nil { // PostgreSQL refuses wider modes
		return fmt.Errorf("data folder: %w", err)
	}
	mark := filepath.Join(s.data, incompleteName)
	if file, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = file.Close()
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("mark data folder: %w", err)
	}
	if err := s.fill(ctx); err != nil {
		return err
	}
	return os.Remove(mark)
}

// awaitPredecessor waits until no postmaster uses dir. The lock is ours, so one
// that still does lost its parent and is shutting down; or somebody started
// PostgreSQL there by other means.
func awaitPredecessor(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, predecessorBudget)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		pid := readPID(dir)
		if pid <= 0 || pid == os.Getpid() || !alive(pid) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s%s", ErrInUse, dir, byPID(pid))
		case <-ticker.C:
		}
	}
}

func byPID(pid int) string {
	if pid <= 0 {
		return ""
	}
	return fmt.Sprintf(" (PID %d)", pid)
}
