package schema

import (
	"fmt"
	"slices"
)

func sameIndex(a, b Index) bool {
	return a.Unique == b.Unique && a.Where == b.Where && slices.Equal(a.Columns, b.Columns)
}

func (p *planner) indexes(old, t Table) {
	retyped := p.retyped[t.key()]
	same := func(a, b Index) bool { return sameIndex(a, b) && !mentionsAny(expressions(a), retyped) }
	gone, fresh, renamed := pair(old.Indexes, t.Indexes, func(x Index) string { return x.Name }, same)
	for _, r := range renamed {
		p.add(Step{
			phase: rename, Title: fmt.Sprintf("rename index %s of %s to %s", Quote(r[0].Name), t.qualified(), Quote(r[1].Name)),
			Rows: "are not touched.", Locks: "the index, for a moment.",
			Statements: []string{"ALTER INDEX " + Qualified(t.Schema, r[0].Name) + " RENAME TO " + Quote(r[1].Name)},
		})
	}
	for _, x := range gone {
		replaced := slices.ContainsFunc(fresh, func(n Index) bool { return n.Name == x.Name })
		early := x.Unique || len(retyped) > 0 || p.opts.Transactional
		if replaced && !early {
			continue // by addIndex, once the new one is there
		}
		p.dropIndex(t, x, early || p.isTaken(t.Schema, x.Name))
	}
	for _, x := range fresh {
		replaces := slices.ContainsFunc(gone, func(o Index) bool { return o.Name == x.Name && !o.Unique }) &&
			len(retyped) == 0 && !p.opts.Transactional
		p.addIndex(t, x, replaces)
	}
}

// expressions is the text of an index that PostgreSQL parsed.
func expressions(x Index) string {
	text := x.Where
	for _, k := range x.Columns {
		text += " " + k.Expression
	}
	return text
}

func (p *planner) dropIndex(t Table, x Index, early bool) {
	s := Step{
		phase: dropLate, Online: true, Title: fmt.Sprintf("drop index %s of %s", Quote(x.Name), t.qualified()),
		Rows:       "are not touched. What read by this index gets slow.",
		Locks:      "no reader or writer; it waits for transactions that are older.",
		Statements: []string{"DROP INDEX CONCURRENTLY IF EXISTS " + Qualified(t.Schema, x.Name)},
	}
	if early {
		s.phase, s.Online, s.Locks = dropConstraints, false, briefly
		s.Statements = []string{"DROP INDEX IF EXISTS " + Qualified(t.Schema, x.Name)}
	}
	p.add(s)
}

// addIndex builds an index beside readers and writers. One that replaces another
// of its name is built under a name of its own first, so that there is no time
// without.
func (p *planner) addIndex(t Table, x Index, replaces bool) {
	s := Step{
		phase: addIndexes, Online: true, Title: fmt.Sprintf("create index %s on %s", Quote(x.Name), t.qualified()),
		Rows:  "are read. A row whose keys are too long for an index (about 2,700 bytes) makes the step fail.",
		Locks: "no reader or writer while it is built; it waits for transactions that are older.",
	}
	if x.Unique {
		s.Risk = DataDependent
		s.Rows = "are read; if two of them have equal keys, the step fails and changes nothing else."
		s.Look = fmt.Sprintf("SELECT %s, count(*) FROM %s%s GROUP BY %[1]s HAVING count(*) > 1 LIMIT 10", keys(x), t.qualified(), where(x))
	}
	build, name := x, Qualified(t.Schema, x.Name)
	if replaces {
		build.Name = generated("new", x.Name)
		s.Title = fmt.Sprintf("replace index %s on %s", Quote(x.Name), t.qualified())
	}
	built := Qualified(t.Schema, build.Name)
	s.Statements = []string{"DROP INDEX CONCURRENTLY IF EXISTS " + built, t.createIndexAs(build, "INDEX CONCURRENTLY")}
	if replaces {
		s.Locks += " Then " + briefly
		// One text of two statements is one transaction.
		s.Statements = append(s.Statements, "DROP INDEX IF EXISTS "+name+";\nALTER INDEX "+built+" RENAME TO "+Quote(x.Name))
	}
	if p.opts.Transactional {
		s.Locks = "the table against writers while it is built: an index can be built beside writers outside a transaction only."
		s.Statements = []string{"DROP INDEX IF EXISTS " + name, t.createIndex(x)}
	}
	p.add(s)
}

func keys(x Index) string {
	var text string
	for i, k := range x.Columns {
		if i > 0 {
			text += ", "
		}
		if k.Column != "" {
			text += Quote(k.Column)
		} else {
			text += "(" + k.Expression + ")"
		}
	}
	return text
}

func where(x Index) string {
	if x.Where == "" {
		return ""
	}
	return " WHERE " + x.Where
}
