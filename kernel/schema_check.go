package kernel

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/persistence/migrate"
)

func checkCommand(opts []fx.Option) *cobra.Command {
	var dir string
	var dev, asJSON bool
	c := &cobra.Command{
		Use: "check", Short: "Replay all migrations in a scratch database and compare it with what the app declares", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			app, err := describe(dev, opts)
			if err != nil {
				return err
			}
			defer app.discard()
			folder, err := app.migrationsOf(c, dir)
			if err != nil {
				return err
			}
			report, err := app.check(c.Context(), folder)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(c.OutOrStdout(), report)
			} else {
				printReport(c.OutOrStdout(), report, dir)
			}
			if err == nil && !report.OK() {
				err = fmt.Errorf("schema check: %w", ErrSchemaCheck)
			}
			return err
		},
	}
	dirFlag(c, &dir)
	devFlag(c, &dev, "make the scratch databases on an embedded PostgreSQL instead of the server of DATABASE_URL")
	jsonFlag(c, &asJSON)
	return c
}

func (d *described) check(ctx context.Context, folder migrate.Folder) (migrate.Report, error) {
	url, end, err := d.scratchServer(ctx)
	if err != nil {
		return migrate.Report{}, err
	}
	defer end()
	return migrate.Check(ctx, folder, d.model(), migrate.CheckOptions{URL: url, Framework: d.framework(), Keep: d.declares})
}

func printReport(w io.Writer, r migrate.Report, dir string) {
	if len(r.Stale) > 0 {
		fmt.Fprintf(w, "The last snapshot in %s is older than the app: plan\n  %s\n", dir, strings.Join(r.Stale, "\n  "))
	}
	if len(r.Drift) > 0 {
		fmt.Fprintf(w, "The migrations do not make what the app declares:\n  %s\n", strings.Join(r.Drift, "\n  "))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	if r.OK() {
		fmt.Fprintf(w, "The %d migrations in %s make what the app declares.\n", r.Migrations, dir)
	}
	fmt.Fprintf(w, "\n%s\n", migrate.Notice)
}

func applyCommand(opts []fx.Option) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use: "apply", Short: "Run the migrations that the database does not have yet", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			app, err := describe(false, opts)
			if err != nil {
				return err
			}
			defer app.discard()
			if app.late != nil && app.dev {
				return fmt.Errorf("a development database is made from the declarations, not from migrations: apply needs DATABASE_URL")
			}
			folder, err := app.migrationsOf(c, dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), "%s\n\n", migrate.Notice)
			return app.connected(c.Context(), func(db *sqlx.DB) error {
				return app.apply(c, db, folder, asJSON)
			})
		},
	}
	dirFlag(c, &dir)
	jsonFlag(c, &asJSON)
	return c
}

// apply runs the migrations and says whether the app could start on what they
// made.
func (d *described) apply(c *cobra.Command, db *sqlx.DB, folder migrate.Folder, asJSON bool) error {
	ctx := c.Context()
	progress := func(line string) { fmt.Fprintln(c.ErrOrStderr(), strings.TrimSpace(line)) }
	applied, err := migrate.Apply(ctx, db.DB, folder, d.framework(), progress)
	for _, a := range applied {
		d.logger.DebugContext(ctx, "migration applied", slog.String("file", a.File), slog.Duration("duration", a.Duration))
	}
	if err != nil {
		return err
	}
	lines, err := differences(ctx, db, d.model())
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(c.OutOrStdout(), struct {
			Applied     []migrate.Applied `json:"applied"`
			Differences []string          `json:"differences"`
		}{applied, lines})
	} else {
		fmt.Fprintf(c.OutOrStdout(), "%d migrations applied.\n", len(applied))
	}
	if err == nil && len(lines) > 0 {
		err = fmt.Errorf("schema apply: the database is %w for this version of the app:\n  %s", ErrSchemaCheck, strings.Join(lines, "\n  "))
	}
	return err
}
