package schema

import (
	"slices"
	"strings"
)

// views drops and makes the views that change or that stand in the way of a
// change. Which columns a view reads is not known here: one that mentions a
// changed table counts.
func (p *planner) views() {
	var changed, shrunk []string // names of tables that change, and that lose columns or go
	for _, r := range p.renamed {
		changed = append(changed, r.old, r.new)
	}
	for _, t := range p.new.Tables {
		if len(p.retyped[t.key()]) > 0 {
			changed = append(changed, t.Name)
		}
	}
	for _, t := range p.old.Tables {
		if now, stays := p.new.Find(t.Schema, t.Name); !stays || loses(t, now) {
			shrunk = append(shrunk, t.Name)
		}
	}
	var away []string // views that are dropped, kept or not
	for _, v := range p.old.Views {
		now, stays := p.view(v)
		if !stays || now.Query != v.Query || mentionsAny(v.Query, slices.Concat(changed, shrunk, away)) {
			away = append(away, v.Name)
			p.dropView(v, stays)
			if stays {
				p.createView(now, shrunk)
			}
		} else if now.Comment != v.Comment {
			p.add(Step{
				phase: createViews, view: Qualified(v.Schema, v.Name), Title: "change the comment of view " + Qualified(v.Schema, v.Name),
				Rows: "are not touched.", Locks: "the view against other schema changes, for a moment.",
				Statements: []string{comment("VIEW", v.Schema, v.Name, now.Comment)},
			})
		}
	}
	for _, v := range p.new.Views {
		if !slices.ContainsFunc(p.old.Views, func(o View) bool { return o.Schema == v.Schema && o.Name == v.Name }) {
			p.createView(v, shrunk)
		}
	}
	p.orderViews()
}

func loses(old, now Table) bool {
	return slices.ContainsFunc(old.Columns, func(c Column) bool { _, stays := now.Column(c.Name); return !stays })
}

func (p *planner) view(v View) (View, bool) {
	for _, n := range p.new.Views {
		if n.Schema == v.Schema && n.Name == v.Name {
			return n, true
		}
	}
	return View{}, false
}

func (p *planner) dropView(v View, again bool) {
	s := Step{
		phase: dropViews, Title: "drop view " + Qualified(v.Schema, v.Name),
		Rows: "are not touched. Who reads the view fails from here on.", Locks: "the view, for a moment.",
		Statements: []string{"DROP VIEW IF EXISTS " + Qualified(v.Schema, v.Name)},
	}
	if again {
		s.Title += ", to make it again below"
		s.Rows = "are not touched. GRANTs on the view are lost: give them again."
	}
	p.add(s)
}

// createView makes a view. One that reads all columns of a table waits for those
// that go.
func (p *planner) createView(v View, shrunk []string) {
	s := Step{
		phase: createViews, view: Qualified(v.Schema, v.Name), Title: "create view " + Qualified(v.Schema, v.Name),
		Rows: "are not touched.", Locks: "none.",
		Statements: []string{"CREATE VIEW " + Qualified(v.Schema, v.Name) + " AS\n" + v.Query},
	}
	if v.Comment != "" {
		s.Statements = append(s.Statements, comment("VIEW", v.Schema, v.Name, v.Comment))
	}
	if strings.Contains(v.Query, "*") && mentionsAny(v.Query, shrunk) {
		s.phase, s.Online = createLateViews, true
		s.Statements = append([]string{"DROP VIEW IF EXISTS " + Qualified(v.Schema, v.Name)}, s.Statements...)
	}
	p.add(s)
}

// orderViews has views dropped from the last to the first and made in the order
// of the model, later ones after those that wait.
func (p *planner) orderViews() {
	var drops, makes, rest []Step
	for _, s := range p.steps {
		switch s.phase {
		case dropViews:
			drops = append(drops, s)
		case createViews, createLateViews:
			makes = append(makes, s)
		default:
			rest = append(rest, s)
		}
	}
	slices.Reverse(drops)
	place := func(s Step) int {
		return slices.IndexFunc(p.new.Views, func(v View) bool { return s.view == Qualified(v.Schema, v.Name) })
	}
	slices.SortStableFunc(makes, func(a, b Step) int { return place(a) - place(b) })
	late := false
	for i := range makes {
		late = late || makes[i].phase == createLateViews
		if late && makes[i].phase == createViews {
			makes[i].phase, makes[i].Online = createLateViews, !p.opts.Transactional
		}
	}
	p.steps = slices.Concat(drops, rest, makes)
}

// dropTables drops the tables that the new model does not have.
func (p *planner) dropTables() {
	for _, t := range p.old.Tables {
		if _, stays := p.new.Find(t.Schema, t.Name); stays {
			continue
		}
		for _, f := range t.ForeignKeys {
			p.dropConstraint(t, "foreign key", f.Name, dropReferences)
		}
		s := Step{
			Risk: Destructive, phase: dropLate, Online: true, Title: "drop table " + t.qualified(),
			Rows:    "are LOST, all of them, at once and for good; only a backup brings them back.",
			Locks:   briefly,
			Instead: "keep the table with --keep '" + Spell(t.Schema, t.Name) + "' until nobody needs its rows.",
			Look:    "SELECT count(*) FROM " + t.qualified(), Statements: []string{"DROP TABLE IF EXISTS " + t.qualified()},
		}
		if p.takesNames(t) {
			s.phase, s.Online = dropEarly, false
		}
		p.add(s)
	}
}

// isTaken tells whether the new model has a relation of this name.
func (p *planner) isTaken(schema, name string) bool {
	for _, t := range p.new.Tables {
		if t.Schema == schema && slices.Contains(relations(t), name) {
			return true
		}
	}
	return slices.ContainsFunc(p.new.Views, func(v View) bool { return v.Schema == schema && v.Name == name })
}

// takesNames tells whether a table holds a name that the new model needs.
func (p *planner) takesNames(t Table) bool {
	return slices.ContainsFunc(relations(t), func(name string) bool { return p.isTaken(t.Schema, name) })
}

// relations are the names that a table takes in its schema.
func relations(t Table) []string {
	names := []string{t.Name}
	if len(t.PrimaryKey) > 0 {
		names = append(names, t.PrimaryKeyName())
	}
	for _, u := range t.Uniques {
		names = append(names, t.UniqueName(u))
	}
	for _, x := range t.Indexes {
		names = append(names, t.IndexName(x))
	}
	for _, c := range t.Columns {
		if c.Identity {
			names = append(names, t.SequenceName(c))
		}
	}
	return names
}
