package schema

import (
	"fmt"
	"slices"
)

func (p *planner) references(old, t Table) {
	same := func(a, b ForeignKey) bool { return sameReference(a, b) && !p.disturbed(t, a) }
	gone, fresh, renamed := pair(old.ForeignKeys, t.ForeignKeys, func(f ForeignKey) string { return f.Name }, same)
	for _, f := range gone {
		p.dropConstraint(t, "foreign key", f.Name, dropReferences)
	}
	for _, r := range renamed {
		p.renameConstraint(t, r[0].Name, r[1].Name)
	}
	for _, f := range fresh {
		p.addReference(t, f, false)
	}
}

func sameReference(a, b ForeignKey) bool {
	return slices.Equal(a.Columns, b.Columns) && slices.Equal(a.RefColumns, b.RefColumns) &&
		a.RefSchema == b.RefSchema && a.RefTable == b.RefTable &&
		a.OnDelete == b.OnDelete && a.InitiallyDeferred == b.InitiallyDeferred
}

// disturbed tells whether something that a reference stands on changes: the type
// of a column on either side, or the key.
func (p *planner) disturbed(t Table, f ForeignKey) bool {
	target := relationKey{f.RefSchema, f.RefTable}
	if overlap(p.retyped[t.key()], f.Columns) || overlap(p.retyped[target], f.RefColumns) {
		return true
	}
	old, was := p.old.Find(f.RefSchema, f.RefTable)
	now, is := p.new.Find(f.RefSchema, f.RefTable)
	if !was || !is {
		return was != is
	}
	// Another key of the same columns could carry it, but which one PostgreSQL
	// chose is not known here.
	return !keepsKeys(old, now, f.RefColumns)
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// keepsKeys tells whether every key of these columns stays as it is.
func keepsKeys(old, now Table, columns []string) bool {
	same := func(key []string) bool { return slices.Equal(sorted(key), sorted(columns)) }
	if same(old.PrimaryKey) && !slices.Equal(old.PrimaryKey, now.PrimaryKey) {
		return false
	}
	for _, u := range old.Uniques {
		kept := slices.ContainsFunc(now.Uniques, func(n Unique) bool { return slices.Equal(n.Columns, u.Columns) })
		if same(u.Columns) && !kept {
			return false
		}
	}
	for _, x := range old.Indexes {
		var keys []string
		for _, k := range x.Columns {
			keys = append(keys, k.Column)
		}
		kept := slices.ContainsFunc(now.Indexes, func(n Index) bool { return sameIndex(n, x) })
		if x.Unique && same(keys) && !kept {
			return false
		}
	}
	return true
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// addReference adds a foreign key. For existing rows it is checked while others
// write; a new table has none.
func (p *planner) addReference(t Table, f ForeignKey, isNew bool) {
	name := t.ForeignKeyName(f)
	target := Qualified(f.RefSchema, f.RefTable)
	add := t.alterForeignKey(f)
	s := Step{
		Title: fmt.Sprintf("add foreign key %s of %s to %s", Quote(name), t.qualified(), target),
		phase: addReferences, Rows: "none are there yet.",
		Locks: "both tables against writers, for a moment (SHARE ROW EXCLUSIVE).", Statements: []string{add},
	}
	if isNew && !p.rebuilt[relationKey{f.RefSchema, f.RefTable}] {
		p.add(s)
		return
	}
	drop := t.alterTable("DROP CONSTRAINT IF EXISTS " + Quote(name))
	s.phase, s.Online, s.Risk = addLateReferences, true, DataDependent
	s.Rows = "are read; if one refers to nothing, the step fails and leaves the foreign key for new rows only."
	s.Look = orphans(t, f)
	s.Statements = []string{drop, add + " NOT VALID", t.alterTable("VALIDATE CONSTRAINT " + Quote(name))}
	s.Locks += " Both against other schema changes while the rows are read."
	if p.opts.Transactional {
		s.Locks = "both tables against writers while the rows are read."
		s.Statements = []string{drop, add}
	}
	p.add(s)
}

func orphans(t Table, f ForeignKey) string {
	given, match := "", ""
	for i, c := range f.Columns {
		if i > 0 {
			given, match = given+" AND ", match+" AND "
		}
		given += "r." + Quote(c) + " IS NOT NULL"
		match += "k." + Quote(f.RefColumns[i]) + " = r." + Quote(c)
	}
	return fmt.Sprintf("SELECT count(*) FROM %s r WHERE %s AND NOT EXISTS (SELECT FROM %s k WHERE %s)",
		t.qualified(), given, Qualified(f.RefSchema, f.RefTable), match)
}
