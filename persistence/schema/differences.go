package schema

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Queryer is what [Differences] needs of a *sql.DB, *sql.Tx or *sql.Conn.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Differences compares the live database with the model and returns a readable
// list, one line each, in the order of the model; empty means equal. It reads
// catalogs only and works in any state of the database, also an empty one.
//
// It finds missing schemas, tables, columns, constraints, indexes and views,
// and deviations in: type, nullability, default and identity of columns; kind,
// columns and validity of constraints, and what foreign keys refer to; uniqueness, columns and validity of
// indexes; storage parameters. Expressions of checks and indexes, and queries of
// views, are not compared: PostgreSQL rewrites them. Of what the model does not
// have it reports one thing only, required columns without a default in an owned
// table, because every insert would fail.
//
// Within a transaction that is not read committed the answer is as old as its
// snapshot.
func Differences(ctx context.Context, q Queryer, m Model) ([]string, error) {
	live, err := readCatalog(ctx, q, m)
	if err != nil {
		return nil, fmt.Errorf("compare schema: %w", err)
	}
	d := &differences{live: live}
	for _, name := range m.AllSchemas() {
		if !live.schemas[name] {
			d.add("schema %s is missing", Quote(name))
		}
	}
	for _, t := range sortedTables(m.Tables) {
		d.table(t)
	}
	for _, v := range m.Views {
		d.relation("view", v.Schema, v.Name, "v")
	}
	return d.lines, nil
}

type differences struct {
	live  *catalog
	lines []string
}

func (d *differences) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// relation reports a table or view that is missing or of another kind.
func (d *differences) relation(kind, schema, name string, relkinds ...string) (relation, bool) {
	found, ok := d.live.relations[relationKey{schema, name}]
	switch {
	case !ok:
		d.add("%s %s is missing", kind, Qualified(schema, name))
	case !slices.Contains(relkinds, found.kind):
		d.add("%s %s is a %s", kind, Qualified(schema, name), relkindName(found.kind))
		ok = false
	}
	return found, ok
}

func (d *differences) table(t Table) {
	found, ok := d.relation("table", t.Schema, t.Name, "r", "p")
	if !ok {
		return
	}
	path := "table " + Qualified(t.Schema, t.Name)
	d.columns(t, found, path)
	d.constraints(t, found, path)
	for _, x := range t.Indexes {
		d.index(t, x, found, path+": index "+Quote(t.IndexName(x)))
	}
	for _, p := range t.Storage {
		if live, ok := found.options[p.Name]; !ok {
			d.add("%s: storage parameter %s is not set, the model says %s", path, p.Name, p.Value)
		} else if live != p.Value {
			d.add("%s: storage parameter %s is %s, the model says %s", path, p.Name, live, p.Value)
		}
	}
}

func (d *differences) columns(t Table, found relation, path string) {
	known := map[string]bool{}
	for _, c := range t.Columns {
		known[c.Name] = true
		at := path + ": column " + Quote(c.Name)
		live, ok := found.column(c.Name)
		if !ok {
			d.add("%s is missing", at)
			continue
		}
		if live.typ != c.Type {
			d.add("%s has type %s, the model says %s", at, live.typ, c.Type)
		}
		if live.notNull != t.Required(c) {
			d.add("%s is %s, the model says %s", at, nullability(live.notNull), nullability(t.Required(c)))
		}
		if live.byDefault != c.Default {
			d.add("%s has %s, the model says %s", at, defaultText(live.byDefault), defaultText(c.Default))
		}
		if live.identity != identityOf(c) {
			d.add("%s is %s, the model says %s", at, identityText(live.identity), identityText(identityOf(c)))
		}
	}
	for _, live := range found.columns {
		if !known[live.name] && live.notNull && live.byDefault == "" && live.identity == "" {
			d.add("%s: column %s is required by the database and unknown to the model", path, Quote(live.name))
		}
	}
}

func (d *differences) constraints(t Table, found relation, path string) {
	if len(t.PrimaryKey) > 0 {
		d.constraint(found, path, "primary key", "p", t.PrimaryKeyName(), t.PrimaryKey)
	}
	for _, u := range t.Uniques {
		d.constraint(found, path, "unique constraint", "u", t.UniqueName(u), u.Columns)
	}
	for _, c := range t.Checks {
		d.constraint(found, path, "check", "c", c.Name, nil)
	}
	for _, f := range t.ForeignKeys {
		d.constraint(found, path, "foreign key", "f", t.ForeignKeyName(f), f.Columns)
		d.reference(found.constraints[t.ForeignKeyName(f)], f, path+": foreign key "+Quote(t.ForeignKeyName(f)))
	}
}

// reference compares what a foreign key refers to, if it is one.
func (d *differences) reference(live liveConstraint, f ForeignKey, at string) {
	want := ForeignKey{
		RefSchema: f.RefSchema, RefTable: f.RefTable, RefColumns: f.RefColumns,
		OnDelete: strings.TrimPrefix(f.OnDelete, "NO ACTION"), InitiallyDeferred: f.InitiallyDeferred,
	}
	if live.kind == "f" && !sameReference(want, live.reference) {
		d.add("%s %s, the model says %s", at, referenceText(live.reference), referenceText(want))
	}
}

func (d *differences) constraint(found relation, path, kind, contype, name string, columns []string) {
	at := path + ": " + kind + " " + Quote(name)
	live, ok := found.constraints[name]
	switch {
	case !ok:
		d.add("%s is missing", at)
	case live.kind != contype:
		d.add("%s is a constraint of another kind", at)
	case columns != nil && !slices.Equal(columns, live.columns):
		d.add("%s is on (%s), the model says (%s)", at, quoteAll(live.columns), quoteAll(columns))
	case !live.validated:
		d.add("%s is not validated: ALTER TABLE … VALIDATE CONSTRAINT %s", at, Quote(name))
	}
}

func (d *differences) index(t Table, x Index, found relation, at string) {
	live, ok := found.indexes[t.IndexName(x)]
	if !ok {
		d.add("%s is missing", at)
		return
	}
	if live.unique != x.Unique {
		d.add("%s is %s, the model says %s", at, uniqueText(live.unique), uniqueText(x.Unique))
	}
	if want := indexKeys(x); !slices.Equal(want, live.keys) {
		d.add("%s is on (%s), the model says (%s)", at, strings.Join(live.keys, ", "), strings.Join(want, ", "))
	}
	if live.partial != (x.Where != "") {
		d.add("%s has %s, the model says %s", at, partialText(live.partial), partialText(x.Where != ""))
	}
	if !live.valid {
		d.add("%s is not valid (its build was interrupted): REINDEX INDEX %s", at, Qualified(t.Schema, t.IndexName(x)))
	}
}
