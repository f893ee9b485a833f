package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// ErrPlan is wrapped by every error of [NewPlan] and of the parsers of what the
// developer adds to it.
var ErrPlan = errors.New("no migration can be planned")

// PlanOptions is what only the developer knows about a change.
type PlanOptions struct {
	// Renames are never guessed: what is not named here is a new object and a
	// dropped one.
	Renames   []Rename
	Backfills []Backfill
	// Keep names tables that stay although the model does not have them any
	// more, such as the events of a type that lost its last deferred listener.
	Keep func(schema, table string) bool
	// Transactional plans every step so that all of them run in one
	// transaction: simpler, all or nothing, with longer locks.
	Transactional bool
}

// Plan is the ordered way from one model to another.
type Plan struct {
	Steps []Step
	// Kept are the tables of the old model that Keep kept.
	Kept []Table
}

// Risk returns the highest risk of the steps.
func (p Plan) Risk() Risk {
	highest := Safe
	for _, s := range p.Steps {
		highest = max(highest, s.Risk)
	}
	return highest
}

// NewPlan compares two models and returns the steps from the old one to the new
// one; none if they make the same tables. Both must be valid. It touches nothing
// but the tables and views of the two models, and drops no schema.
//
// The steps are ordered: schemas, renames, dropped constraints, new tables,
// columns, views, then backfills, constraints, indexes, and dropped tables and
// columns at the very end. Errors tell what is missing from the options, all at
// once.
func NewPlan(from, to Model, o PlanOptions) (Plan, error) {
	p := &planner{new: to.Canonical(), opts: o}
	renamed, err := p.rename(from.Canonical())
	if err != nil {
		return Plan{}, err
	}
	p.old = renamed
	p.markKept()
	p.findRetyped()
	p.findRebuiltKeys()
	p.schemas()
	for _, t := range p.new.Tables {
		if old, ok := p.old.Find(t.Schema, t.Name); ok {
			p.alter(old, t)
		} else {
			p.create(t)
		}
	}
	p.dropTables()
	p.views()
	p.unusedBackfills()
	if err := errors.Join(p.problems...); err != nil {
		return Plan{}, err
	}
	slices.SortStableFunc(p.steps, func(a, b Step) int { return cmp.Compare(a.phase, b.phase) })
	return Plan{Steps: p.steps, Kept: p.kept}, nil
}

// planner holds what the parts of a plan share.
type planner struct {
	old, new Model // canonical, the old one with the renames done
	opts     PlanOptions
	steps    []Step
	problems []error
	kept     []Table

	retyped map[relationKey][]string // columns that change their type
	rebuilt map[relationKey]bool     // tables that get a key while rows are there
	renamed []renaming
	used    map[int]bool         // backfills
	filled  map[relationKey]bool // tables whose rows get values
}

// renaming is a name that views may mention: before and after.
type renaming struct{ old, new string }

func (p *planner) add(s Step) {
	if p.opts.Transactional {
		s.Online = false
	}
	p.steps = append(p.steps, s)
}

func (p *planner) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf("%w: "+format, append([]any{ErrPlan}, args...)...))
}

func (t Table) key() relationKey { return relationKey{t.Schema, t.Name} }

func (t Table) qualified() string { return Qualified(t.Schema, t.Name) }

func (t Table) alterTable(change string) string { return "ALTER TABLE " + t.qualified() + " " + change }

// markKept moves the tables that stay out of the comparison.
func (p *planner) markKept() {
	var rest []Table
	for _, t := range p.old.Tables {
		if _, stays := p.new.Find(t.Schema, t.Name); !stays && p.opts.Keep != nil && p.opts.Keep(t.Schema, t.Name) {
			p.kept = append(p.kept, t)
			continue
		}
		rest = append(rest, t)
	}
	p.old.Tables = rest
}

// findRetyped collects the columns that change their type: what refers to them
// has to step aside.
func (p *planner) findRetyped() {
	p.retyped = map[relationKey][]string{}
	for _, t := range p.new.Tables {
		old, ok := p.old.Find(t.Schema, t.Name)
		if !ok {
			continue
		}
		for _, c := range t.Columns {
			if before, ok := old.Column(c.Name); ok && before.Type != c.Type {
				p.retyped[t.key()] = append(p.retyped[t.key()], c.Name)
			}
		}
	}
}

func (p *planner) schemas() {
	for _, name := range p.new.Schemas {
		if slices.Contains(p.old.Schemas, name) {
			continue
		}
		p.add(Step{
			phase: makeSchemas, Title: "create schema " + Quote(name),
			Rows: "none are there yet.", Locks: "none.",
			Statements: []string{"CREATE SCHEMA IF NOT EXISTS " + Quote(name)},
		})
	}
}

func (p *planner) create(t Table) {
	statements := []string{t.create()}
	for _, x := range t.Indexes {
		statements = append(statements, t.createIndex(x))
	}
	if t.Comment != "" {
		statements = append(statements, comment("TABLE", t.Schema, t.Name, t.Comment))
	}
	p.add(Step{
		phase: createTables, Title: "create table " + t.qualified(),
		Rows:  "none are there yet: indexes and constraints cost nothing, so they are made at once.",
		Locks: "none that anybody waits for.", Statements: statements,
	})
	for _, f := range t.ForeignKeys {
		p.addReference(t, f, true)
	}
}

// alter plans the changes of a table that stays.
func (p *planner) alter(old, t Table) {
	p.columns(old, t)
	p.primaryKey(old, t)
	p.uniques(old, t)
	p.checks(old, t)
	p.references(old, t)
	p.indexes(old, t)
	p.storage(old, t)
	if old.Comment != t.Comment {
		p.add(Step{
			phase: alterTables, Title: "change the comment of " + t.qualified(),
			Rows: "are not touched.", Locks: "the table against other schema changes, for a moment.",
			Statements: []string{comment("TABLE", t.Schema, t.Name, t.Comment)},
		})
	}
}

func (p *planner) storage(old, t Table) {
	var changes []string
	for _, s := range t.Storage {
		if !slices.Contains(old.Storage, s) {
			changes = append(changes, t.alterTable("SET ("+s.Name+" = "+Literal(s.Value)+")"))
		}
	}
	for _, s := range old.Storage {
		if !slices.ContainsFunc(t.Storage, func(n Parameter) bool { return n.Name == s.Name }) {
			changes = append(changes, t.alterTable("RESET ("+s.Name+")"))
		}
	}
	if len(changes) > 0 {
		p.add(Step{
			phase: alterTables, Title: "change storage parameters of " + t.qualified(),
			Rows:  "are not touched; a new fillfactor holds for pages written from now on.",
			Locks: "the table against other schema changes, for a moment.", Statements: changes,
		})
	}
}
