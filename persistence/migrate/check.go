package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/tidings-go/tidings/persistence/schema"
)

// Report is what Check found.
type Report struct {
	// Stale lists what the model has beyond the last snapshot: it must be
	// planned.
	Stale []string `json:"stale"`
	// Drift lists what the migrations make otherwise than the model says.
	Drift []string `json:"drift"`
	// Notes list what does no harm: indexes beyond the model.
	Notes      []string `json:"notes"`
	Migrations int      `json:"migrations"`
}

// OK tells whether the migrations make what the model says.
func (r Report) OK() bool { return len(r.Stale) == 0 && len(r.Drift) == 0 }

// CheckOptions is where Check works.
type CheckOptions struct {
	URL       string // of a database on the server that gets the scratch databases
	Framework string // schema of the framework's tables
	Keep      func(schema, table string) bool
}

// Check replays all migrations in one scratch database, makes the model in
// another, compares what PostgreSQL says about the owned tables, and drops both.
// It also compares the model with the last snapshot.
func Check(ctx context.Context, folder Folder, model schema.Model, o CheckOptions) (Report, error) {
	last := folder.Last()
	r := Report{Migrations: len(folder.SQL)}
	keep := func(s, t string) bool { return last.Keeps(s, t) || o.Keep != nil && o.Keep(s, t) }
	plan, err := schema.NewPlan(last.Model, model, schema.PlanOptions{Keep: keep})
	switch {
	case errors.Is(err, schema.ErrPlan):
		r.Stale = append(r.Stale, strings.Split(err.Error(), "\n")...)
	case err != nil:
		return r, err
	}
	for _, s := range plan.Steps {
		r.Stale = append(r.Stale, s.Title)
	}
	owned := schema.Merge(model, schema.Model{Tables: plan.Kept})
	deviations, err := compare(ctx, folder, owned, o)
	if err != nil {
		return r, err
	}
	for _, d := range deviations {
		text := describe(d)
		if d.Extra() && d.Object.Kind == "index" && strings.HasPrefix(d.Have, "CREATE INDEX") && !strings.HasSuffix(d.Have, "INVALID") {
			r.Notes = append(r.Notes, text)
			continue
		}
		r.Drift = append(r.Drift, text)
	}
	return r, nil
}

func describe(d schema.Deviation) string {
	switch {
	case d.Have == "":
		return fmt.Sprintf("%s: the migrations do not make it; the model says %s", d.Object, d.Want)
	case d.Want == "":
		return fmt.Sprintf("%s: only the migrations make it: %s", d.Object, d.Have)
	}
	return fmt.Sprintf("%s: the migrations make %s, the model says %s", d.Object, d.Have, d.Want)
}

func compare(ctx context.Context, folder Folder, owned schema.Model, o CheckOptions) (found []schema.Deviation, err error) {
	s, err := connect(o.URL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.admin.Close()) }()
	if err := s.sweep(ctx); err != nil {
		return nil, err
	}
	var replayed, made map[schema.Object]string
	err = s.withScratch(ctx, "replay", func(db *sql.DB) (err error) {
		if _, err := Apply(ctx, db, folder, o.Framework, nil); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		replayed, err = contents(ctx, db, owned)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.withScratch(ctx, "model", func(db *sql.DB) (err error) {
		for _, statement := range owned.DDL() {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("make the model: %w: %.200s", err, statement)
			}
		}
		made, err = contents(ctx, db, owned)
		return err
	})
	return schema.Compare(replayed, made), err
}

func contents(ctx context.Context, db *sql.DB, m schema.Model) (map[schema.Object]string, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("read contents: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	return schema.Contents(ctx, tx, m)
}
