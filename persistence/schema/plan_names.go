package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Spell writes the name of a table or column as the options of a plan take it.
func Spell(parts ...string) string {
	text := ""
	for i, part := range parts {
		if i > 0 {
			text += "."
		}
		text += part
	}
	return text
}

func spelt(spec string, parts ...string) (rest string, ok bool) {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = Quote(part)
	}
	for _, form := range []string{Spell(parts...), strings.Join(quoted, ".")} {
		if rest, ok := strings.CutPrefix(spec, form+"="); ok {
			return rest, true
		}
	}
	return "", false
}

// Rename gives a table or a column another name. It is made by [ParseRename].
type Rename struct {
	schema, table, column string // what it is called in the old model
	toSchema, toName      string // toSchema is of tables only
}

// ParseRename reads schema.table=new, schema.table=schema.new or
// schema.table.column=new against the models that it is about: names may hold
// dots, so only there is it clear what is meant. Each part may also be quoted as
// in SQL.
func ParseRename(from, to Model, spec string) (Rename, error) {
	var found []Rename
	for _, t := range from.Tables {
		if rest, ok := spelt(spec, t.Schema, t.Name); ok {
			found = append(found, tableRenames(to, t, rest)...)
		}
		for _, c := range t.Columns {
			rest, ok := spelt(spec, t.Schema, t.Name, c.Name)
			if !ok {
				continue
			}
			for _, name := range []string{rest, unquoted(rest)} {
				if hasColumn(to, name) {
					found = append(found, Rename{schema: t.Schema, table: t.Name, column: c.Name, toName: name})
					break
				}
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Rename{}, fmt.Errorf("%w: --rename %s: want schema.table=new or schema.table.column=new, "+
			"of a table or column that the last snapshot has, to one that the app has now", ErrPlan, spec)
	}
	return Rename{}, fmt.Errorf(`%w: --rename %s can be read in %d ways: quote the names ("schema"."table"."column"=new)`, ErrPlan, spec, len(found))
}

func tableRenames(to Model, t Table, rest string) []Rename {
	for _, n := range to.Tables {
		full := []string{Spell(n.Schema, n.Name), n.qualified()}
		if slices.Contains(full, rest) || n.Schema == t.Schema && (n.Name == rest || n.Name == unquoted(rest)) {
			return []Rename{{schema: t.Schema, table: t.Name, toSchema: n.Schema, toName: n.Name}}
		}
	}
	return nil
}

func hasColumn(m Model, name string) bool {
	return slices.ContainsFunc(m.Tables, func(t Table) bool { _, ok := t.Column(name); return ok })
}

// unquoted takes the quotes of SQL off a name.
func unquoted(name string) string {
	inner, ok := strings.CutPrefix(name, `"`)
	if inner, ok2 := strings.CutSuffix(inner, `"`); ok && ok2 && inner != "" {
		return strings.ReplaceAll(inner, `""`, `"`)
	}
	return name
}

// RenameTable is the rename of a table.
func RenameTable(schema, table, toSchema, to string) Rename {
	return Rename{schema: schema, table: table, toSchema: toSchema, toName: to}
}

// InverseRenames undoes renames.
func InverseRenames(renames []Rename) []Rename {
	p := &planner{opts: PlanOptions{Renames: renames}}
	var inverse []Rename
	for _, r := range renames {
		if r.column == "" {
			inverse = append(inverse, Rename{schema: r.toSchema, table: r.toName, toSchema: r.schema, toName: r.table})
			continue
		}
		schema, table := p.now(r)
		inverse = append(inverse, Rename{schema: schema, table: table, column: r.toName, toName: r.column})
	}
	return inverse
}

// Backfill says what existing rows get in a new required column. It is made by
// [ParseBackfill].
type Backfill struct {
	schema, table, column string
	expression            string
}

// ParseBackfill reads column=expression or schema.table.column=expression
// against the new model. The expression is SQL over the table's columns.
func ParseBackfill(to Model, spec string) (Backfill, error) {
	var found []Backfill
	for _, t := range to.Tables {
		for _, c := range t.Columns {
			if rest, ok := spelt(spec, t.Schema, t.Name, c.Name); ok {
				found = append(found, Backfill{t.Schema, t.Name, c.Name, rest})
			} else if rest, ok := spelt(spec, c.Name); ok {
				found = append(found, Backfill{t.Schema, t.Name, c.Name, rest})
			}
		}
	}
	switch {
	case len(found) == 0:
		return Backfill{}, fmt.Errorf("%w: --backfill %s: want column=expression or schema.table.column=expression, of a column that the app has now", ErrPlan, spec)
	case strings.TrimSpace(found[0].expression) == "":
		return Backfill{}, fmt.Errorf("%w: --backfill %s: the expression is empty", ErrPlan, spec)
	}
	return pickBackfill(spec, found)
}

// pickBackfill keeps a spec that fits several columns, to be decided by which of
// them needs a value.
func pickBackfill(spec string, found []Backfill) (Backfill, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	for _, f := range found[1:] {
		if f.column != found[0].column || f.expression != found[0].expression {
			return Backfill{}, fmt.Errorf(`%w: --backfill %s can be read in %d ways: quote the names ("schema"."table"."column"=expression)`, ErrPlan, spec, len(found))
		}
	}
	return Backfill{column: found[0].column, expression: found[0].expression}, nil
}

// backfillOf returns the expression that is given for a column.
func (p *planner) backfillOf(t Table, c Column) (string, bool) {
	for i, b := range p.opts.Backfills {
		if b.column == c.Name && (b.table == "" || b.schema == t.Schema && b.table == t.Name) {
			if b.table == "" && p.used[i] {
				p.problem("--backfill %s fits several tables: name one with schema.table.%s", b.column, b.column)
			}
			if p.used == nil {
				p.used = map[int]bool{}
			}
			p.used[i] = true
			return strings.TrimSpace(b.expression), true
		}
	}
	return "", false
}

func (p *planner) unusedBackfills() {
	for i, b := range p.opts.Backfills {
		if !p.used[i] {
			p.problem("--backfill %s: no column of this name is new or newly required", b.column)
		}
	}
}
