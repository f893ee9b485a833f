package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// lockPatience is how long Apply waits, in seconds, for another process that
// applies migrations: an index on a large table takes its time.
const lockPatience = 3600

// Applied is a migration that ran.
type Applied struct {
	File     string        `json:"file"`
	Duration time.Duration `json:"duration"`
}

// NewProvider returns goose's provider for a migrations folder, with a version
// table in the framework's schema and a lock that lets one process migrate at a
// time. It is for what Apply does not do, such as a step down. The lock needs
// sessions of the server itself, not of a pooler in transaction mode. progress
// gets a line for each migration; it may be nil.
func NewProvider(db *sql.DB, files fs.FS, framework string, progress func(string)) (*goose.Provider, error) {
	s := store{framework: framework}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(s.lockID()), lock.WithLockTimeout(1, lockPatience))
	if err != nil {
		return nil, fmt.Errorf("goose: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectCustom, db, files, goose.WithStore(s), goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true), goose.WithVerbose(progress != nil), goose.WithLogger(logger(progress)))
	if err != nil {
		return nil, fmt.Errorf("goose: %w", err)
	}
	return p, nil
}

// Apply runs the migrations of the folder that have not run yet, in order. It
// may be called by several processes at once: one runs them, the others wait and
// find nothing to do. An error comes with what ran before it; it names the file
// that failed, of which a transaction left nothing, and a file outside a
// transaction what its steps did.
func Apply(ctx context.Context, db *sql.DB, folder Folder, framework string, progress func(string)) ([]Applied, error) {
	p, err := NewProvider(db, folder.Files, framework, progress)
	if errors.Is(err, goose.ErrNoMigrations) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	results, err := p.Up(ctx)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		results = partial.Applied
		err = fmt.Errorf("%s: %w", partial.Failed.Source.Path, partial.Err)
	}
	applied := make([]Applied, 0, len(results))
	for _, r := range results {
		applied = append(applied, Applied{r.Source.Path, r.Duration})
	}
	if err != nil {
		return applied, fmt.Errorf("apply migrations: %w", err)
	}
	return applied, nil
}

// logger hands goose's lines on.
type logger func(string)

func (l logger) Printf(format string, args ...any) {
	if l != nil {
		l(fmt.Sprintf(format, args...))
	}
}

func (l logger) Fatalf(format string, args ...any) { l.Printf(format, args...) }
