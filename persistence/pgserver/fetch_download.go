package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// download has embedded-postgres download and unpack the release below work. It
// returns the unpacked tree and the URL asked for.
func (f *fetch) download(ctx context.Context, work string) (tree, from string, err error) {
	f.enter("downloading")
	tree = filepath.Join(work, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil { // an archive may be empty
		return "", f.repository.Redacted(), err
	}
	r, err := startRelay(ctx, f)
	if err != nil {
		return "", f.repository.Redacted(), err
	}
	err = unpackOnly(r.url(), f.release.version, work, tree)
	r.stop()
	if failure := r.firstFailure(); failure != nil {
		err = failure // the library's word for it has no cause
	}
	return tree, cmp.Or(r.firstURL(), f.repository.Redacted()), err
}

// unpackOnly downloads and unpacks by the library's Start, which is its only
// public way, and ends that before it runs anything: Start goes on to initdb,
// which refuses to run as root and would make a cluster that nobody wants.
//
// Between unpacking and initdb Start empties its data folder with os.RemoveAll,
// and that refuses every path that ends in "/." on every system. Start then
// returns an error with this path, which no step before has heard of: so it is
// the sign that all of them succeeded. Should a later version of the library do
// without the emptying, it fails or starts in the folder work; the caller's
// tests show that.
//
// One thing remains of each call: an empty file embedded_postgres_log… in the
// temporary folder, whose name the library keeps to itself.
func unpackOnly(repository string, version embeddedpostgres.PostgresVersion, work, tree string) (err error) {
	end := filepath.Join(work, "end")
	if err := os.Mkdir(end, 0o700); err != nil {
		return err
	}
	end += string(filepath.Separator) + "."
	defer func() { // it panics where it cannot tidy up
		if p := recover(); p != nil {
			err = fmt.Errorf("embedded-postgres: %v", p)
		}
	}()
	database := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		BinaryRepositoryURL(repository).
		Version(version).
		CachePath(filepath.Join(work, "archive")).
		BinariesPath(tree).
		RuntimePath(filepath.Join(work, "runtime")).
		DataPath(end).
		Port(0). // it checks that its port is free: any is
		Logger(nil))
	switch err := database.Start(); {
	case err == nil:
		return errors.Join(errors.New("embedded-postgres started a server instead of ending"), database.Stop())
	case strings.Contains(err.Error(), end):
		return nil
	default:
		return fmt.Errorf("embedded-postgres: %w", err)
	}
}
