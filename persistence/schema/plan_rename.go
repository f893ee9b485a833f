package schema

import (
	"slices"
	"strings"
)

// rename plans the renames and returns the old model as it is after them.
func (p *planner) rename(old Model) (Model, error) {
	m := Model{Schemas: old.Schemas, Tables: slices.Clone(old.Tables), Views: old.Views}
	for _, r := range p.opts.Renames {
		if r.column == "" {
			p.renameTable(&m, r)
		}
	}
	for _, r := range p.opts.Renames {
		if r.column != "" {
			p.renameColumn(&m, r)
		}
	}
	if len(p.problems) > 0 {
		return m, p.problems[0]
	}
	m.Tables = sortedTables(m.Tables)
	for i, t := range m.Tables {
		m.Tables[i] = t.canonical()
	}
	return m, nil
}

func (m Model) index(schema, name string) int {
	return slices.IndexFunc(m.Tables, func(t Table) bool { return t.Schema == schema && t.Name == name })
}

func (p *planner) renameTable(m *Model, r Rename) {
	i := m.index(r.schema, r.table)
	_, wanted := p.new.Find(r.toSchema, r.toName)
	_, stays := p.new.Find(r.schema, r.table)
	switch {
	case i < 0:
		p.problem("--rename: the last snapshot has no table %s", Qualified(r.schema, r.table))
		return
	case !wanted:
		p.problem("--rename: the app has no table %s", Qualified(r.toSchema, r.toName))
		return
	case stays:
		p.problem("--rename: table %s is still in the app: it cannot become another", Qualified(r.schema, r.table))
		return
	case m.index(r.toSchema, r.toName) >= 0:
		p.problem("--rename: table %s is there already: free its name in a migration before", Qualified(r.toSchema, r.toName))
		return
	}
	old := m.Tables[i]
	now := old
	now.Schema, now.Name = r.toSchema, r.toName
	p.renamed = append(p.renamed, renaming{old.Name, now.Name})
	var statements []string
	if old.Schema != now.Schema {
		statements = append(statements, old.alterTable("SET SCHEMA "+Quote(now.Schema)))
	}
	if old.Name != now.Name {
		moved := Table{Schema: now.Schema, Name: old.Name}
		statements = append(statements, moved.alterTable("RENAME TO "+Quote(now.Name)))
		statements = append(statements, p.renameOwn(old, now)...)
	}
	p.add(Step{
		phase: rename, Title: "rename table " + old.qualified() + " to " + now.qualified(),
		Rows: "are not touched. Code of before does not find the table any more: stop it first, or let it see a view of the old name.", Locks: briefly,
		Statements: statements,
	})
	m.Tables[i] = now
	for j, t := range m.Tables {
		m.Tables[j].ForeignKeys = slices.Clone(t.ForeignKeys)
		for k, f := range t.ForeignKeys {
			if f.RefSchema == old.Schema && f.RefTable == old.Name {
				m.Tables[j].ForeignKeys[k].RefSchema, m.Tables[j].ForeignKeys[k].RefTable = now.Schema, now.Name
			}
		}
	}
}

// renameOwn renames what is named after the table: its primary key and the
// sequences of its identities.
func (p *planner) renameOwn(old, now Table) []string {
	var statements []string
	if len(old.PrimaryKey) > 0 && old.PrimaryKeyName() != now.PrimaryKeyName() {
		statements = append(statements, now.alterTable("RENAME CONSTRAINT "+Quote(old.PrimaryKeyName())+" TO "+Quote(now.PrimaryKeyName())))
	}
	for _, c := range old.Columns {
		if c.Identity && old.SequenceName(c) != now.SequenceName(c) {
			statements = append(statements, renameSequence(now.Schema, old.SequenceName(c), now.SequenceName(c)))
		}
	}
	return statements
}

func renameSequence(schema, from, to string) string {
	return "ALTER SEQUENCE " + Qualified(schema, from) + " RENAME TO " + Quote(to)
}

func (p *planner) renameColumn(m *Model, r Rename) {
	schema, table := p.now(r)
	i := m.index(schema, table)
	t, is := p.new.Find(schema, table)
	if i < 0 || !is {
		p.problem("--rename: table %s is not in both the last snapshot and the app", Qualified(schema, table))
		return
	}
	old := m.Tables[i]
	before, was := old.Column(r.column)
	_, wanted := t.Column(r.toName)
	_, stays := t.Column(r.column)
	_, taken := old.Column(r.toName)
	switch {
	case !was:
		p.problem("--rename: table %s had no column %s", old.qualified(), Quote(r.column))
		return
	case !wanted:
		p.problem("--rename: table %s has no column %s in the app", old.qualified(), Quote(r.toName))
		return
	case stays:
		p.problem("--rename: column %s of %s is still in the app: it cannot become another", Quote(r.column), old.qualified())
		return
	case taken:
		p.problem("--rename: column %s of %s is there already: free its name in a migration before", Quote(r.toName), old.qualified())
		return
	}
	now := Column{Name: r.toName}
	statements := []string{old.alterTable("RENAME COLUMN " + Quote(r.column) + " TO " + Quote(r.toName))}
	if before.Identity && old.SequenceName(before) != old.SequenceName(now) {
		statements = append(statements, renameSequence(old.Schema, old.SequenceName(before), old.SequenceName(now)))
	}
	p.renamed = append(p.renamed, renaming{r.column, r.toName})
	p.add(Step{
		phase: rename, Title: "rename column " + Quote(r.column) + " of " + old.qualified() + " to " + Quote(r.toName),
		Rows: "are not touched. Code of before does not find the column any more: stop it first.", Locks: briefly, Statements: statements,
	})
	renameIn(m, i, r.column, r.toName)
}

// now returns where a column's table is after the renames of tables.
func (p *planner) now(r Rename) (schema, table string) {
	for _, o := range p.opts.Renames {
		if o.column == "" && o.schema == r.schema && o.table == r.table {
			return o.toSchema, o.toName
		}
	}
	return r.schema, r.table
}

// renameIn writes a column's new name wherever the model names it, as PostgreSQL
// does.
func renameIn(m *Model, i int, from, to string) {
	swap := func(names []string) []string {
		names = slices.Clone(names)
		for k := range names {
			if names[k] == from {
				names[k] = to
			}
		}
		return names
	}
	text := func(s string) string { return strings.ReplaceAll(s, Quote(from), Quote(to)) }
	t := m.Tables[i]
	t.Columns, t.Uniques, t.Checks = slices.Clone(t.Columns), slices.Clone(t.Uniques), slices.Clone(t.Checks)
	t.Indexes, t.ForeignKeys, t.PrimaryKey = slices.Clone(t.Indexes), slices.Clone(t.ForeignKeys), swap(t.PrimaryKey)
	for k := range t.Columns {
		t.Columns[k].Name = swap([]string{t.Columns[k].Name})[0]
	}
	for k := range t.Uniques {
		t.Uniques[k].Columns = swap(t.Uniques[k].Columns)
	}
	for k := range t.Checks {
		t.Checks[k].Expression = text(t.Checks[k].Expression)
	}
	for k := range t.ForeignKeys {
		t.ForeignKeys[k].Columns = swap(t.ForeignKeys[k].Columns)
	}
	for k, x := range t.Indexes {
		t.Indexes[k].Where, t.Indexes[k].Columns = text(x.Where), slices.Clone(x.Columns)
		for j, key := range x.Columns {
			t.Indexes[k].Columns[j].Column = swap([]string{key.Column})[0]
			t.Indexes[k].Columns[j].Expression = text(key.Expression)
		}
	}
	m.Tables[i] = t
	for j, o := range m.Tables {
		m.Tables[j].ForeignKeys = slices.Clone(o.ForeignKeys)
		for k, f := range o.ForeignKeys {
			if f.RefSchema == t.Schema && f.RefTable == t.Name {
				m.Tables[j].ForeignKeys[k].RefColumns = swap(f.RefColumns)
			}
		}
	}
}
