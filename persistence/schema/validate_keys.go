package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// constraints checks keys, checks and references: their names, which are unique
// within a table, and the columns that they use.
func (v *validator) constraints(t Table, path string) {
	names := map[string]bool{}
	use := func(name, at string) {
		const wayOut = "give the constraint a name of its own"
		if err := CheckName(name); err != nil {
			v.report(at, err, wayOut)
		} else if names[name] {
			v.report(at, fmt.Errorf("constraint name %q stands twice", name), wayOut)
		}
		names[name] = true
	}
	if len(t.PrimaryKey) > 0 {
		at := path + ", primary key"
		use(t.PrimaryKeyName(), at)
		v.relation(t.Schema, t.PrimaryKeyName(), at, "rename the other object")
		v.known(t, t.PrimaryKey, at)
	}
	for _, u := range t.Uniques {
		at := path + ", unique " + Quote(t.UniqueName(u))
		use(t.UniqueName(u), at)
		v.relation(t.Schema, t.UniqueName(u), at, "give the constraint a name of its own")
		v.known(t, u.Columns, at)
		if len(u.Columns) > 0 && slices.Equal(u.Columns, t.PrimaryKey) {
			v.report(at, errors.New("the primary key has the same columns: PostgreSQL makes one of the two"), "remove it")
		}
	}
	for _, c := range t.Checks {
		at := path + ", check " + Quote(c.Name)
		use(c.Name, at)
		if strings.TrimSpace(c.Expression) == "" {
			v.report(at, errors.New("expression is empty"), "write its condition")
		}
	}
	for _, f := range t.ForeignKeys {
		at := path + ", foreign key " + Quote(t.ForeignKeyName(f))
		use(t.ForeignKeyName(f), at)
		v.foreignKey(t, f, at)
	}
}

func (v *validator) foreignKey(t Table, f ForeignKey, at string) {
	v.known(t, f.Columns, at)
	if len(f.RefColumns) != len(f.Columns) {
		v.report(at, fmt.Errorf("%d columns reference %d", len(f.Columns), len(f.RefColumns)), "name as many")
	}
	for _, name := range append([]string{f.RefSchema, f.RefTable}, f.RefColumns...) {
		if err := CheckName(name); err != nil {
			v.report(at, err, "name schema, table and columns that exist")
		}
	}
	if !slices.Contains(deleteActions, f.OnDelete) {
		v.report(at, fmt.Errorf("unknown ON DELETE action %q", f.OnDelete), "use NO ACTION, RESTRICT, CASCADE, SET NULL or SET DEFAULT")
	}
}

func (v *validator) indexes(t Table, path string) {
	for _, x := range t.Indexes {
		at := path + ", index " + Quote(t.IndexName(x))
		v.relation(t.Schema, t.IndexName(x), at, "give the index a name of its own")
		var columns []string
		for _, key := range x.Columns {
			if (key.Column == "") == (strings.TrimSpace(key.Expression) == "") {
				v.report(at, errors.New("a key needs either a column or an expression"), "set one of both")
				continue
			}
			if key.Column != "" {
				columns = append(columns, key.Column)
			}
		}
		if len(x.Columns) == 0 {
			v.report(at, errors.New("no columns"), "name some")
		}
		v.exist(t, columns, at)
	}
}

func (v *validator) known(t Table, columns []string, at string) {
	if len(columns) == 0 {
		v.report(at, errors.New("no columns"), "name some")
	}
	v.exist(t, columns, at)
	if len(slices.Compact(slices.Sorted(slices.Values(columns)))) != len(columns) {
		v.report(at, errors.New("a column stands twice"), "name it once")
	}
}

func (v *validator) exist(t Table, columns []string, at string) {
	for _, name := range columns {
		if !slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == name }) {
			v.report(at, fmt.Errorf("the table has no column %q", name), "name a column of the table")
		}
	}
}
