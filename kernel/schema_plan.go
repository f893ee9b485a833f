package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/persistence/migrate"
	"github.com/tidings-go/tidings/persistence/schema"
)

// planFlags is what the developer says about a plan.
type planFlags struct {
	name, dir               string
	renames, fills          []string
	keep, drop              []string
	force, dryRun, jsonForm bool
}

func (f *planFlags) add(c *cobra.Command) {
	flags := c.Flags()
	dirFlag(c, &f.dir)
	flags.StringVar(&f.name, "name", "", "what the migration is for, such as add_note")
	flags.StringArrayVar(&f.renames, "rename", nil, "a rename: schema.table.old=new or schema.table=new; may be repeated")
	flags.StringArrayVar(&f.fills, "backfill", nil, "what existing rows get: column=expression or schema.table.column=expression; may be repeated")
	flags.StringArrayVar(&f.keep, "keep", nil, "keep a table that the app does not declare any more: schema.table; may be repeated")
	flags.StringArrayVar(&f.drop, "drop", nil, "drop a table that was kept: schema.table; may be repeated")
	flags.BoolVar(&f.force, "force", false, "write a destructive candidate; it acknowledges the risk and transfers nothing")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the files instead of writing them")
	jsonFlag(c, &f.jsonForm)
}

func planCommand(opts []fx.Option) *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use: "plan", Short: "Write a migration candidate from the last snapshot to what the app declares", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.name == "" {
				return usageError{errors.New("--name is missing, such as --name add_note")}
			}
			app, err := describe(false, opts)
			if err != nil {
				return err
			}
			defer app.discard()
			return f.write(c, app, nil, nil)
		},
	}
	f.add(c)
	return c
}

// write plans and writes a candidate, with further renames and changes.
func (f *planFlags) write(c *cobra.Command, app *described, renames func(last schema.Model) []schema.Rename, changes []migrate.Change) error {
	folder, err := migrate.Open(os.DirFS(f.dir))
	if err != nil {
		return err
	}
	last := folder.Last()
	options, err := f.options(app, last)
	if err != nil {
		return err
	}
	if renames != nil {
		options.Plan.Renames = append(options.Plan.Renames, renames(last.Model)...)
	}
	options.Changes = changes
	candidate, err := migrate.NewCandidate(folder, app.model(), options)
	if err != nil {
		fmt.Fprintf(c.ErrOrStderr(), "%s\n\n", migrate.Notice)
		return err
	}
	if !f.dryRun {
		if err := candidate.Write(f.dir); err != nil {
			return err
		}
	}
	if f.jsonForm {
		return printJSON(c.OutOrStdout(), candidate)
	}
	f.print(c.OutOrStdout(), candidate)
	return nil
}

func (f *planFlags) options(app *described, last migrate.Snapshot) (migrate.Options, error) {
	o := migrate.Options{Name: f.name, Force: f.force, At: time.Now()}
	var errs []error
	for _, spec := range f.renames {
		r, err := schema.ParseRename(last.Model, app.model(), spec)
		errs = append(errs, err)
		o.Plan.Renames = append(o.Plan.Renames, r)
	}
	for _, spec := range f.fills {
		b, err := schema.ParseBackfill(app.model(), spec)
		errs = append(errs, err)
		o.Plan.Backfills = append(o.Plan.Backfills, b)
	}
	for _, spec := range slices.Concat(f.keep, f.drop) {
		if !slices.ContainsFunc(last.Model.Tables, func(t schema.Table) bool { return names(spec, t.Schema, t.Name) }) {
			errs = append(errs, fmt.Errorf("%w: the last snapshot has no table %s", schema.ErrPlan, spec))
		}
	}
	o.Plan.Keep = func(s, t string) bool {
		named := func(spec string) bool { return names(spec, s, t) }
		return !slices.ContainsFunc(f.drop, named) &&
			(app.declares(s, t) || last.Keeps(s, t) || slices.ContainsFunc(f.keep, named))
	}
	return o, errors.Join(errs...)
}

// names tells whether the developer's word means a table.
func names(spec, s, table string) bool {
	return spec == schema.Spell(s, table) || spec == schema.Qualified(s, table)
}

func (f *planFlags) print(w io.Writer, c migrate.Candidate) {
	if c.Empty() {
		fmt.Fprintf(w, "Nothing to plan: the last snapshot in %s is what the app declares.\n\n%s\n", f.dir, migrate.Notice)
		return
	}
	for _, s := range c.Steps {
		fmt.Fprintf(w, "%-14s %s\n%15sExisting rows %s\n", strings.ToUpper(s.Risk.String()), s.Title, "", s.Rows)
		if s.Instead != "" {
			fmt.Fprintf(w, "%15sInstead: %s\n", "", s.Instead)
		}
	}
	fmt.Fprintln(w)
	for _, file := range c.Files {
		if f.dryRun {
			fmt.Fprintf(w, "--- %s\n%s\n", filepath.Join(f.dir, file.Name), file.Text)
			continue
		}
		fmt.Fprintln(w, "wrote", filepath.Join(f.dir, file.Name))
	}
	fmt.Fprintf(w, "\n%s\n", migrate.Notice)
}
