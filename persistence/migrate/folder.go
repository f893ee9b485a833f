package migrate

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Folder is a migrations folder whose snapshots are a chain.
type Folder struct {
	Files     fs.FS
	Snapshots []Snapshot // from the first to the last
	SQL       []string   // names of goose's files, by version
}

// Open reads a folder. A folder without snapshots is one before the first plan.
// All problems of the chain are reported together, each with its way out; they
// wrap ErrChain.
func Open(files fs.FS) (Folder, error) {
	f := Folder{Files: files}
	names, err := fs.Glob(files, "*")
	if err != nil {
		return f, fmt.Errorf("read migrations folder: %w", err)
	}
	var errs []error
	for _, name := range names {
		switch _, versioned := version(name); {
		case strings.HasSuffix(name, snapshotSuffix):
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return f, fmt.Errorf("read snapshot: %w", err)
			}
			s, err := readSnapshot(name, text)
			errs = append(errs, err)
			f.Snapshots = append(f.Snapshots, s)
		case strings.HasSuffix(name, ".sql") && versioned:
			f.SQL = append(f.SQL, name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return f, err
	}
	slices.SortFunc(f.SQL, func(a, b string) int { return int(max(-1, min(1, mustVersion(a)-mustVersion(b)))) })
	slices.SortFunc(f.Snapshots, func(a, b Snapshot) int { return int(max(-1, min(1, a.Version-b.Version))) })
	return f, errors.Join(append(f.links(), f.missing()...)...)
}

// Last returns the last snapshot, or the empty one.
func (f Folder) Last() Snapshot {
	if len(f.Snapshots) == 0 {
		return Snapshot{}
	}
	return f.Snapshots[len(f.Snapshots)-1]
}

// links reports snapshots that do not follow each other.
func (f Folder) links() []error {
	var errs []error
	byPrint := map[string]Snapshot{}
	for _, s := range f.Snapshots {
		byPrint[s.Fingerprint] = s
	}
	successors := map[string]Snapshot{}
	for _, s := range f.Snapshots {
		if other, forked := successors[s.Predecessor]; forked {
			errs = append(errs, fmt.Errorf("%w: a fork: %s and %s were both planned from %s; keep one, delete the other "+
				"with its SQL files, and plan its change anew", ErrChain, other.File(), s.File(), origin(byPrint, s)))
			continue
		}
		successors[s.Predecessor] = s
		before, known := byPrint[s.Predecessor]
		switch {
		case s.Predecessor != "" && !known:
			errs = append(errs, fmt.Errorf("%w: the snapshot that %s was planned from is missing (%s); restore it from version control",
				ErrChain, s.File(), s.Predecessor))
		case known && before.Version >= s.Version:
			errs = append(errs, fmt.Errorf("%w: %s stands before %s, which it was planned from", ErrChain, s.File(), before.File()))
		}
	}
	return errs
}

func origin(byPrint map[string]Snapshot, s Snapshot) string {
	if before, ok := byPrint[s.Predecessor]; ok {
		return before.File()
	}
	if s.Predecessor == "" {
		return "nothing"
	}
	return "a snapshot that is missing"
}

// missing reports SQL files that a snapshot names and that are not there, and
// candidates whose snapshot is not there.
func (f Folder) missing() []error {
	var errs []error
	for _, s := range f.Snapshots {
		for _, name := range s.Migrations {
			if !slices.Contains(f.SQL, name) {
				errs = append(errs, fmt.Errorf("%w: %s, which belongs to %s, is missing; restore it from version control", ErrChain, name, s.File()))
			}
		}
	}
	for _, name := range f.SQL {
		text, err := fs.ReadFile(f.Files, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("read migration: %w", err))
			continue
		}
		snapshot := snapshotOf(string(text))
		known := slices.ContainsFunc(f.Snapshots, func(s Snapshot) bool { return s.File() == snapshot })
		if snapshot != "" && !known {
			errs = append(errs, fmt.Errorf("%w: %s, the snapshot of %s, is missing; restore it from version control, or delete both and plan anew",
				ErrChain, snapshot, name))
		}
	}
	return errs
}

// version is the number that goose orders a file by.
func version(name string) (int64, bool) {
	number, _, ok := strings.Cut(name, "_")
	n, err := strconv.ParseInt(number, 10, 64)
	return n, ok && err == nil && n > 0
}

func mustVersion(name string) int64 {
	n, _ := version(name)
	return n
}

// highest is the highest version in the folder.
func (f Folder) highest() int64 {
	if len(f.SQL) == 0 {
		return 0
	}
	return mustVersion(f.SQL[len(f.SQL)-1])
}
