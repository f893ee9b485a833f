package kernel

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/persistence/migrate"
	"github.com/tidings-go/tidings/persistence/pgserver"
	"github.com/tidings-go/tidings/persistence/schema"
)

// ErrSchemaCheck is what `schema check`, `schema apply` and `schema
// verify-history` fail with when they ran and found something.
var ErrSchemaCheck = errors.New("not as it should be")

// described is an app that was assembled and not started: what it declares is
// known, no database is needed.
type described struct {
	*kernel
	types []*events.Type
	all   []access.Declared
	dev   bool // asked for by flag, environment or code
}

func describe(dev bool, opts []fx.Option) (*described, error) {
	d := &described{dev: dev}
	offline := option(func(s *settings) error {
		s.flags = func(c *boot.Config) {
			d.dev = d.dev || c.Dev
			c.Dev = true // a pool that nothing connects
		}
		return nil
	})
	app := fx.New(core(), Distinct(opts...), offline, quiet(), fx.Populate(&d.kernel), fx.Invoke(func(in access.DeclaredIn) {
		d.all = in.Declared
		for _, declared := range in.Declared {
			if t, ok := declared.(*events.Type); ok {
				d.types = append(d.types, t)
			}
		}
	}))
	return d, app.Err()
}

func (d *described) framework() string { return d.config.Delivery.Schema }

func (d *described) model() schema.Model { return model(d.bus, d.framework()) }

// declares tells whether a table is that of a declared event type, stored or
// not: it is never planned for dropping because its last deferred listener left.
func (d *described) declares(s, table string) bool {
	for _, t := range d.types {
		if s == t.Declaration().Namespace() && ofEvent(table, t.Declaration().Name()) {
			return true
		}
	}
	return false
}

// ofEvent tells whether a table holds events of a name, or parts of them.
func ofEvent(table, event string) bool {
	rest, ok := strings.CutPrefix(table, eventTable(event))
	return ok && (rest == "" || rest[0] == '.')
}

func eventTable(event string) string { return "@event:" + event }

// url returns the URL of the app's database.
func (d *described) url() (string, error) {
	if d.config.DatabaseURL == "" {
		return "", errors.New("no database: set DATABASE_URL")
	}
	url, err := boot.WithSettings(d.config.DatabaseURL)
	if err != nil {
		return "", fmt.Errorf("DATABASE_URL: %w", err)
	}
	return url, nil
}

// connected calls use with a pool on the app's database: the app's own, else
// one on DATABASE_URL, or on the development database where that was asked for.
func (d *described) connected(ctx context.Context, use func(*sqlx.DB) error) (err error) {
	if d.late == nil {
		return use(d.pool)
	}
	var url string
	if d.dev {
		var end func()
		if url, end, err = devDatabase(ctx, d.config.DevDir); err != nil {
			return err
		}
		defer end()
	} else if url, err = d.url(); err != nil {
		return err
	}
	if err := d.late.Connect(url); err != nil {
		return err
	}
	defer d.discard()
	return use(d.pool)
}

// scratchServer returns the URL of a server for scratch databases, and what ends
// it: an embedded one in a temporary folder in development.
func (d *described) scratchServer(ctx context.Context) (url string, end func(), err error) {
	if !d.dev {
		url, err = d.url()
		if err != nil {
			err = fmt.Errorf("%w, or check on an embedded PostgreSQL with --dev", err)
		}
		return url, func() {}, err
	}
	server, err := pgserver.Start(ctx, pgserver.Config{})
	if err != nil {
		return "", nil, fmt.Errorf("server for scratch databases: %w", err)
	}
	return server.URL("postgres"), func() { _ = server.Stop(context.WithoutCancel(ctx)) }, nil
}

// migrationsOf reads the folder that --dir names, else those that the program
// carries, else the default folder.
func (d *described) migrationsOf(c *cobra.Command, dir string) (migrate.Folder, error) {
	files := os.DirFS(dir)
	if d.migrations != nil && !c.Flags().Changed("dir") {
		files = d.migrations
	}
	folder, err := migrate.Open(files)
	if err == nil && len(folder.SQL) == 0 {
		err = fmt.Errorf("no migrations in %s: `schema plan --name initial` writes the first, --dir names another folder", dir)
	}
	return folder, err
}

func dirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "dir", migrate.DefaultDir, "the migrations folder")
}

func devFlag(c *cobra.Command, dev *bool, what string) {
	c.Flags().BoolVar(dev, "dev", false, what+" (TIDINGS_DEV)")
}

func jsonFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

// printJSON prints what a command found; the notice is part of it.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Notice string `json:"notice"`
		Result any    `json:"result"`
	}{migrate.Notice, v})
}

// differences compares the live database with the app's model.
func differences(ctx context.Context, db *sqlx.DB, m schema.Model) ([]string, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("compare schema: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	return schema.Differences(ctx, tx, m)
}
