package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// findRebuiltKeys finds the tables that get a key while rows are in them: what
// refers to the key has to wait for it.
func (p *planner) findRebuiltKeys() {
	p.rebuilt = map[relationKey]bool{}
	for _, t := range p.new.Tables {
		old, ok := p.old.Find(t.Schema, t.Name)
		if !ok {
			continue
		}
		if len(t.PrimaryKey) > 0 && !slices.Equal(old.PrimaryKey, t.PrimaryKey) {
			p.rebuilt[t.key()] = true
		}
		for _, u := range t.Uniques {
			if !slices.ContainsFunc(old.Uniques, func(o Unique) bool { return slices.Equal(o.Columns, u.Columns) }) {
				p.rebuilt[t.key()] = true
			}
		}
		for _, x := range t.Indexes {
			if x.Unique && !slices.ContainsFunc(old.Indexes, func(o Index) bool { return sameIndex(o, x) }) {
				p.rebuilt[t.key()] = true
			}
		}
	}
}

func (p *planner) primaryKey(old, t Table) {
	if slices.Equal(old.PrimaryKey, t.PrimaryKey) {
		return
	}
	if len(old.PrimaryKey) > 0 {
		p.dropConstraint(t, "primary key", old.PrimaryKeyName(), dropConstraints)
	}
	if len(t.PrimaryKey) > 0 {
		p.addKey(t, "primary key", "PRIMARY KEY", t.PrimaryKeyName(), t.PrimaryKey)
	}
}

func (p *planner) uniques(old, t Table) {
	sameColumns := func(a, b Unique) bool { return slices.Equal(a.Columns, b.Columns) }
	gone, fresh, renamed := pair(old.Uniques, t.Uniques, func(u Unique) string { return u.Name }, sameColumns)
	for _, u := range gone {
		p.dropConstraint(t, "unique constraint", u.Name, dropConstraints)
	}
	for _, r := range renamed {
		p.renameConstraint(t, r[0].Name, r[1].Name)
	}
	for _, u := range fresh {
		p.addKey(t, "unique constraint", "UNIQUE", u.Name, u.Columns)
	}
}

// pair compares two lists of named things: what is gone or changed, what is new
// or changed, and what has only another name.
func pair[T any](old, list []T, name func(T) string, same func(a, b T) bool) (gone, fresh []T, renamed [][2]T) {
	at := func(list []T, n string) int { return slices.IndexFunc(list, func(x T) bool { return name(x) == n }) }
	for _, o := range old {
		if i := at(list, name(o)); i < 0 || !same(o, list[i]) {
			gone = append(gone, o)
		}
	}
	for _, n := range list {
		if i := at(old, name(n)); i >= 0 && same(old[i], n) {
			continue
		}
		i := slices.IndexFunc(gone, func(o T) bool { return same(o, n) && at(list, name(o)) < 0 })
		if i >= 0 && at(old, name(n)) < 0 {
			renamed = append(renamed, [2]T{gone[i], n})
			gone = slices.Delete(gone, i, i+1)
			continue
		}
		fresh = append(fresh, n)
	}
	return gone, fresh, renamed
}

func (p *planner) renameConstraint(t Table, from, to string) {
	p.add(Step{
		phase: rename, Title: fmt.Sprintf("rename constraint %s of %s to %s", Quote(from), t.qualified(), Quote(to)),
		Rows: "are not touched.", Locks: briefly,
		Statements: []string{t.alterTable("RENAME CONSTRAINT " + Quote(from) + " TO " + Quote(to))},
	})
}

func (p *planner) dropConstraint(t Table, kind, name string, at phase) {
	p.add(Step{
		phase: at, Title: fmt.Sprintf("drop %s %s of %s", kind, Quote(name), t.qualified()),
		Rows: "are not touched; new ones are no longer held to it.", Locks: briefly,
		Statements: []string{t.alterTable("DROP CONSTRAINT IF EXISTS " + Quote(name))},
	})
}

// addKey adds a primary key or a unique constraint on an index that is built
// while others write.
func (p *planner) addKey(t Table, kind, definition, name string, columns []string) {
	built := generated("new", name)
	s := Step{
		Risk: DataDependent, phase: addKeys, Online: true,
		Title: fmt.Sprintf("add %s %s to %s", kind, Quote(name), t.qualified()),
		Rows:  fmt.Sprintf("are read; if two of them agree in (%s), the step fails and changes nothing else.", quoteAll(columns)),
		Locks: "no reader or writer while the index is built (it waits for transactions that are older), then " + briefly,
		Look: fmt.Sprintf("SELECT %s, count(*) FROM %s GROUP BY %[1]s HAVING count(*) > 1 LIMIT 10",
			quoteAll(columns), t.qualified()),
		Statements: []string{
			"DROP INDEX CONCURRENTLY IF EXISTS " + Qualified(t.Schema, built),
			"CREATE UNIQUE INDEX CONCURRENTLY " + Quote(built) + " ON " + t.qualified() + " (" + quoteAll(columns) + ")",
			t.adoptIndex(built, name, definition),
		},
	}
	if p.opts.Transactional {
		s.Locks = "the table against everything while its index is built: an index can be built beside writers outside a transaction only."
		s.Statements = []string{
			t.alterTable("DROP CONSTRAINT IF EXISTS " + Quote(name)),
			t.alterTable("ADD " + constraint(name, definition+" ("+quoteAll(columns)+")")),
		}
	}
	p.add(s)
}

// adoptIndex makes a constraint of an index, which gets its name. When the step
// runs again the constraint is there, and foreign keys may stand on it.
func (t Table) adoptIndex(index, name, definition string) string {
	tag := "$adopt$"
	for strings.Contains(t.qualified()+name, tag) {
		tag = tag[:len(tag)-1] + "_$"
	}
	return fmt.Sprintf(`DO %[1]s
BEGIN
	IF EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conrelid = %[2]s::regclass AND conname = %[3]s) THEN
		DROP INDEX %[4]s;
	ELSE
		%[5]s;
	END IF;
END
%[1]s`, tag, Literal(t.qualified()), Literal(name), Qualified(t.Schema, index),
		t.alterTable("ADD CONSTRAINT "+Quote(name)+" "+definition+" USING INDEX "+Quote(index)))
}

// plain matches identifiers that SQL may name without quotes, in any case.
var plain = regexp.MustCompile(`^[a-z_][a-z0-9_$]*$`)

// mentions tells whether SQL text may name an identifier, quoted or not; it errs
// on the side of yes.
func mentions(text, identifier string) bool {
	if strings.Contains(text, Quote(identifier)) {
		return true
	}
	if !plain.MatchString(identifier) {
		return false
	}
	word := regexp.MustCompile(`(?i)(?:^|[^\pL\pN_$])` + regexp.QuoteMeta(identifier) + `(?:$|[^\pL\pN_$])`)
	return word.MatchString(text)
}

func mentionsAny(text string, identifiers []string) bool {
	return slices.ContainsFunc(identifiers, func(i string) bool { return mentions(text, i) })
}
