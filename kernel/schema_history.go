package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/schema"
)

// historyFlags is what verify-history looks at.
type historyFlags struct {
	all, failed, dev, jsonForm bool
	batch                      int
}

// History is what verify-history found.
type history struct {
	Verified int       `json:"verified"`
	Findings []finding `json:"findings"`
}

// finding is stored events or jobs that the current code cannot deal with, by
// the rule that they break.
type finding struct {
	Event   string `json:"event"`
	Rule    string `json:"rule"`
	Count   int    `json:"count"`
	Example string `json:"example,omitempty"` // an event's identity
	Detail  string `json:"detail,omitempty"`  // what that one says
}

func historyCommand(opts []fx.Option) *cobra.Command {
	var f historyFlags
	c := &cobra.Command{
		Use: "verify-history", Short: "Rebuild stored events under the current code and list those that fail", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.batch < 1 {
				return usageError{fmt.Errorf("--batch=%d: want a positive number", f.batch)}
			}
			app, err := describe(f.dev, opts)
			if err != nil {
				return err
			}
			defer app.discard()
			return app.connected(c.Context(), func(db *sqlx.DB) error { return f.run(c, app, db) })
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.all, "all", false, "every stored event, not only those with a pending job")
	flags.BoolVar(&f.failed, "failed", false, "also events whose jobs failed: an operator may retry them")
	flags.IntVar(&f.batch, "batch", 500, "how many events to read at once")
	devFlag(c, &f.dev, "look at the development database")
	jsonFlag(c, &f.jsonForm)
	return c
}

func (f historyFlags) run(c *cobra.Command, app *described, db *sqlx.DB) error {
	lines, err := differences(c.Context(), db, app.model())
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		return fmt.Errorf("%w: apply the migrations first, on a copy if need be:\n  %s", ErrSchema, strings.Join(lines, "\n  "))
	}
	v := verifier{described: app, flags: f, progress: c.ErrOrStderr()}
	if err := v.everything(c.Context()); err != nil {
		return err
	}
	if f.jsonForm {
		err = printJSON(c.OutOrStdout(), v.found)
	} else {
		v.found.print(c.OutOrStdout())
	}
	if err == nil && len(v.found.Findings) > 0 {
		err = fmt.Errorf("schema verify-history: the history is %w for this version of the app", ErrSchemaCheck)
	}
	return err
}

func (h history) print(w io.Writer) {
	for _, f := range h.Findings {
		fmt.Fprintf(w, "%8d  %s: %s\n", f.Count, f.Event, f.Rule)
		if f.Example != "" {
			fmt.Fprintf(w, "%10ssuch as %s: %s\n", "", f.Example, f.Detail)
		}
	}
	fmt.Fprintf(w, "%d events rebuilt under the current code.\n", h.Verified)
}

// verifier rebuilds stored events. It only reads, in a transaction for each
// batch: one for all would hold up vacuum.
type verifier struct {
	*described
	flags    historyFlags
	progress io.Writer
	found    history
}

func (v *verifier) everything(ctx context.Context) error {
	if err := v.strangers(ctx); err != nil {
		return err
	}
	stored := map[string]bool{}
	for _, t := range v.model().Tables {
		stored[schema.Qualified(t.Schema, t.Name)] = true
	}
	slices.SortFunc(v.types, func(a, b *events.Type) int {
		return strings.Compare(a.Declaration().Identity, b.Declaration().Identity)
	})
	for _, t := range v.types {
		d := t.Declaration()
		if !stored[schema.Qualified(d.Namespace(), eventTable(d.Name()))] {
			continue
		}
		if err := v.events(ctx, t); err != nil {
			return fmt.Errorf("verify %s: %w", d.Identity, err)
		}
	}
	slices.SortStableFunc(v.found.Findings, func(a, b finding) int {
		return strings.Compare(a.Event+"\x00"+a.Rule, b.Event+"\x00"+b.Rule)
	})
	return nil
}

// events rebuilds the stored events of one type, page by page.
func (v *verifier) events(ctx context.Context, t *events.Type) error {
	last, count := uuid.Nil, 0
	for {
		var ids []uuid.UUID
		var loaded map[uuid.UUID]events.Stored
		err := v.db.Required(ctx, persistence.TxOptions{ReadOnly: true}, func(ctx context.Context, tx *persistence.Transaction) (err error) {
			if ids, err = v.page(ctx, tx, t, last); err != nil || len(ids) == 0 {
				return err
			}
			loaded, err = v.bus.Load(ctx, tx, t, ids)
			return err
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			v.judge(t.Declaration().Identity, id, loaded)
		}
		last, count = ids[len(ids)-1], count+len(ids)
		v.found.Verified += len(ids)
		fmt.Fprintf(v.progress, "%s: %d verified\n", t.Declaration().Identity, count)
	}
}

func (v *verifier) page(ctx context.Context, tx *persistence.Transaction, t *events.Type, after uuid.UUID) (ids []uuid.UUID, err error) {
	d := t.Declaration()
	query, args := fmt.Sprintf(pendingEvents, schema.Quote(v.framework()), v.states()), []any{d.Identity, after.String(), v.flags.batch}
	if v.flags.all {
		query = fmt.Sprintf(storedEvents, schema.Qualified(d.Namespace(), eventTable(d.Name())))
		args = args[1:]
	}
	rows, err := tx.QueryxContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// states are those of jobs that are still to run.
func (v *verifier) states() string {
	states := []string{events.StateReady, events.StateClaimed, events.StateWaiting}
	if v.flags.failed || v.flags.all {
		states = append(states, events.StateFailed)
	}
	for i := range states {
		states[i] = schema.Literal(states[i])
	}
	return strings.Join(states, ", ")
}

func (v *verifier) judge(identity string, id uuid.UUID, loaded map[uuid.UUID]events.Stored) {
	e, there := loaded[id]
	switch {
	case !there:
		v.report(identity, "a job without its event", id, errors.New("no row"))
	case e.Err != nil:
		for _, err := range parts(e.Err) {
			v.report(identity, rule(err), id, err)
		}
	}
}

func (v *verifier) report(identity, broken string, id uuid.UUID, err error) {
	for i, f := range v.found.Findings {
		if f.Event == identity && f.Rule == broken {
			v.found.Findings[i].Count++
			return
		}
	}
	v.found.Findings = append(v.found.Findings, finding{identity, broken, 1, id.String(), err.Error()})
}

// strangers reports pending jobs of listeners and events that this code does not
// have: they would be blocked.
func (v *verifier) strangers(ctx context.Context) error {
	known := map[string]bool{}
	for _, t := range v.types {
		known["event "+t.Declaration().Identity] = true
	}
	for _, s := range v.bus.Deferred() {
		known["listener "+s.Listener.Declaration().Identity] = true
	}
	return v.db.Required(ctx, persistence.TxOptions{ReadOnly: true}, func(ctx context.Context, tx *persistence.Transaction) error {
		rows, err := tx.QueryxContext(ctx, fmt.Sprintf(pendingListeners, schema.Quote(v.framework()), v.states()))
		if err != nil {
			return fmt.Errorf("count pending jobs: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var event, listener string
			var jobs int
			if err := rows.Scan(&event, &listener, &jobs); err != nil {
				return fmt.Errorf("count pending jobs: %w", err)
			}
			switch {
			case !known["event "+event]:
				v.found.Findings = append(v.found.Findings, finding{Event: event, Count: jobs, Rule: "jobs of an event that this code does not declare"})
			case !known["listener "+listener]:
				v.found.Findings = append(v.found.Findings, finding{Event: event, Count: jobs, Rule: "jobs of listener " + listener + ", which this code does not have: they would be blocked"})
			}
		}
		return rows.Err()
	})
}
