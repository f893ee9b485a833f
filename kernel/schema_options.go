package kernel

import (
	"errors"
	"io/fs"
)

// Migrations has the program carry its migrations, so that `schema apply` and
// `schema check` need no folder where it is deployed:
//
//	//go:embed migrations
//	var files embed.FS
//	…
//	migrations, _ := fs.Sub(files, "migrations")
//	kernel.Main(app.Module, kernel.Migrations(migrations))
//
// Their flag --dir reads a folder instead. `schema plan` writes to a folder in
// any case.
func Migrations(files fs.FS) Option {
	return option(func(s *settings) error {
		if files == nil || s.migrations != nil {
			return errors.New("kernel.Migrations: want one file system, given once")
		}
		s.migrations = files
		return nil
	})
}
