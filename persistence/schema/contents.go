package schema

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Object is something in a database that belongs to an owned table or view: the
// relation itself, a column, a constraint, an index, a sequence, a trigger.
type Object struct {
	Schema, Relation string
	Kind             string // table, column, constraint, index, identity, trigger, view
	Name             string // empty for the relation itself
}

// String names the object as in messages.
func (o Object) String() string {
	switch o.Kind {
	case "table", "view":
		return o.Kind + " " + Qualified(o.Schema, o.Relation)
	}
	return Qualified(o.Schema, o.Relation) + ": " + o.Kind + " " + Quote(o.Name)
}

// Contents reads how PostgreSQL describes everything that belongs to the owned
// relations of the model: with types, defaults, expressions of checks and
// indexes, queries of views and foreign keys as it normalises them. Two
// databases with equal contents have equal tables, but for the order of columns.
//
// Call it in a transaction: it sets the search_path for the rest of it.
func Contents(ctx context.Context, q Queryer, m Model) (map[Object]string, error) {
	c := contents{}
	// Names in definitions are qualified only where the search_path does not
	// find them.
	rows, err := q.QueryContext(ctx, `SELECT pg_catalog.set_config('search_path', 'pg_catalog', true)`)
	if err != nil {
		return nil, fmt.Errorf("read contents: %w", err)
	}
	if err := rows.Close(); err != nil {
		return nil, fmt.Errorf("read contents: %w", err)
	}
	keys := make([]relationKey, 0, len(m.Tables)+len(m.Views))
	for _, t := range m.Tables {
		keys = append(keys, askable(t.Schema, t.Name))
	}
	for _, v := range m.Views {
		keys = append(keys, askable(v.Schema, v.Name))
	}
	for _, query := range contentsQueries {
		if err := each(ctx, q, query, keys, c.row); err != nil {
			return nil, err
		}
	}
	return c, nil
}

type contents map[Object]string

func (c contents) row(scan func(...any) error) error {
	var o Object
	var definition string
	if err := scan(&o.Schema, &o.Relation, &o.Kind, &o.Name, &definition); err != nil {
		return err
	}
	c[o] = definition
	return nil
}

// Deviation is an object that two databases do not have in common. A definition
// is empty where the object is missing.
type Deviation struct {
	Object     Object
	Have, Want string
}

// Extra tells whether the object is wanted nowhere.
func (d Deviation) Extra() bool { return d.Want == "" }

// Compare returns the deviations of have from want, sorted by object.
func Compare(have, want map[Object]string) []Deviation {
	all := maps.Clone(want)
	maps.Copy(all, have)
	var found []Deviation
	for o := range all {
		if have[o] != want[o] {
			found = append(found, Deviation{o, have[o], want[o]})
		}
	}
	slices.SortFunc(found, func(a, b Deviation) int {
		return slices.Compare(
			[]string{a.Object.Schema, a.Object.Relation, a.Object.Kind, a.Object.Name},
			[]string{b.Object.Schema, b.Object.Relation, b.Object.Kind, b.Object.Name})
	})
	// What hangs on a relation that is missing goes without saying.
	return slices.DeleteFunc(found, func(d Deviation) bool {
		relation := func(kind string) Object { return Object{d.Object.Schema, d.Object.Relation, kind, ""} }
		for _, kind := range []string{"table", "view"} {
			if o := relation(kind); d.Object != o && have[o] == "" != (want[o] == "") {
				return true
			}
		}
		return false
	})
}
