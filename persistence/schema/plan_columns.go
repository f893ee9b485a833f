package schema

import "fmt"

const briefly = "the table against everything, for a moment (ACCESS EXCLUSIVE)."

func (p *planner) columns(old, t Table) {
	for _, c := range t.Columns {
		before, there := old.Column(c.Name)
		if !there {
			p.addColumn(t, c)
			continue
		}
		p.changeColumn(t, before, c)
	}
	for _, c := range old.Columns {
		if _, stays := t.Column(c.Name); !stays {
			p.add(Step{
				Risk: Destructive, phase: dropLate, Online: true,
				Title:      fmt.Sprintf("drop column %s of %s", Quote(c.Name), t.qualified()),
				Rows:       "LOSE what they hold in this column, at once and for good; only a backup brings it back.",
				Locks:      briefly,
				Instead:    "leave the column as it is until nobody misses it: a nullable column that nothing writes costs one bit per row.",
				Look:       fmt.Sprintf("SELECT count(*) FROM %s WHERE %s IS NOT NULL", t.qualified(), Quote(c.Name)),
				Statements: []string{t.alterTable("DROP COLUMN IF EXISTS " + Quote(c.Name))},
			})
		}
	}
}

// oldWriters warns of what a stricter column does to code that does not know it.
const oldWriters = " Code of before that inserts without it fails from here on: if old nodes run on meanwhile, " +
	"let the column be NULL in a first migration and require it in a second, when they have gone."

func (p *planner) addColumn(t Table, c Column) {
	s := Step{
		phase: alterColumns, Title: fmt.Sprintf("add column %s to %s", Quote(c.Name), t.qualified()), Locks: briefly,
		Statements: []string{t.alterTable("ADD COLUMN " + t.defineColumn(c))},
	}
	fill, given := p.backfillOf(t, c)
	switch {
	case c.Identity:
		s.Risk = Rewrite
		s.Rows = "are numbered, in the order in which they happen to lie, while the table is written anew."
		s.Locks = "the table against everything, for as long as it takes to write it and its indexes anew."
		s.Instead = "add the column without identity first, fill it in batches, then declare the identity in a second plan."
	case given && isConstant(fill):
		p.addConstant(t, c, fill, s)
		return
	case given:
		p.addFilled(t, c, fill, s)
		return
	case c.Default == "" && c.NotNull:
		p.problem("column %s of %s is new and required, and existing rows have no value for it: "+
			"say which with --backfill '%s=expression'", Quote(c.Name), t.qualified(), Spell(t.Schema, t.Name, c.Name))
		return
	case c.Default == "":
		s.Rows = "read NULL in it; none is written."
	case isConstant(c.Default):
		s.Rows = "read " + c.Default + " in it; none is written: PostgreSQL keeps the value in the catalog."
	default:
		s.Risk = Rewrite
		s.Rows = "each get their own value of " + c.Default + " while the table is written anew."
		s.Locks = "the table against everything, for as long as it takes to write it and its indexes anew."
		s.Instead = fmt.Sprintf("plan with --backfill '%s=%s': the column is added empty and filled in batches.",
			Spell(t.Schema, t.Name, c.Name), c.Default)
	}
	p.add(s)
}

// addConstant adds a column whose existing rows all get one value: as a default
// that is taken back, so that nothing is written.
func (p *planner) addConstant(t Table, c Column, fill string, s Step) {
	with := c
	with.Default = fill
	s.Rows = "read " + fill + " in it; none is written: PostgreSQL keeps the value in the catalog."
	if c.NotNull && c.Default == "" {
		s.Rows += oldWriters
	}
	s.Statements = []string{t.alterTable("ADD COLUMN " + t.defineColumn(with)), t.setDefault(c)}
	p.add(s)
}

// addFilled adds a column empty and fills it afterwards.
func (p *planner) addFilled(t Table, c Column, fill string, s Step) {
	empty := Column{Name: c.Name, Type: c.Type}
	s.Rows = "read NULL in it for now; the backfill follows."
	s.Statements = []string{t.alterTable("ADD COLUMN " + Table{}.defineColumn(empty))}
	if c.Default != "" {
		s.Statements = append(s.Statements, t.setDefault(c))
	}
	p.add(s)
	p.backfill(t, c, fill)
	if c.NotNull {
		p.require(t, c)
	}
}

func (t Table) alterColumn(c Column, change string) string {
	return t.alterTable("ALTER COLUMN " + Quote(c.Name) + " " + change)
}

func (t Table) setDefault(c Column) string {
	if c.Default == "" {
		return t.alterColumn(c, "DROP DEFAULT")
	}
	return t.alterColumn(c, "SET DEFAULT "+c.Default)
}

func (p *planner) changeColumn(t Table, old, c Column) {
	if old.Identity && !c.Identity {
		p.add(Step{
			phase: alterColumns, Title: fmt.Sprintf("end the numbering of column %s of %s", Quote(c.Name), t.qualified()),
			Rows: "keep their numbers.", Locks: briefly, Statements: []string{t.alterColumn(c, "DROP IDENTITY IF EXISTS")},
		})
	}
	if old.Type != c.Type {
		p.retype(t, old, c)
	} else if old.Default != c.Default {
		p.add(Step{
			phase: alterColumns, Title: fmt.Sprintf("column %s of %s gets %s", Quote(c.Name), t.qualified(), defaultText(c.Default)),
			Rows: "are not touched: a default counts for rows inserted from now on.", Locks: briefly,
			Statements: []string{t.setDefault(c)},
		})
	}
	if old.NotNull && !c.NotNull {
		p.add(Step{
			phase: alterColumns, Title: fmt.Sprintf("let column %s of %s be NULL", Quote(c.Name), t.qualified()),
			Rows: "are not touched. Code of before may not expect NULL.", Locks: briefly,
			Statements: []string{t.alterColumn(c, "DROP NOT NULL")},
		})
	}
	if !old.NotNull && c.NotNull {
		if fill, given := p.backfillOf(t, c); given && old.Type == c.Type {
			p.backfill(t, c, fill)
		}
		p.require(t, c)
	}
	if !old.Identity && c.Identity {
		p.identify(t, c)
	}
}

// retype changes a column's type. Its default steps aside: PostgreSQL casts it
// only where it can.
func (p *planner) retype(t Table, old, c Column) {
	s := Step{
		Risk: retype(old.Type, c.Type), phase: alterColumns,
		Title: fmt.Sprintf("change column %s of %s from %s to %s", Quote(c.Name), t.qualified(), old.Type, c.Type),
	}
	change, conversion := "TYPE "+c.Type, cast(Quote(c.Name), old.Type, c.Type)
	if given, ok := p.backfillOf(t, c); ok {
		s.Risk, conversion = Destructive, "("+given+")"
	}
	switch s.Risk {
	case Safe:
		s.Rows = "are not touched: every value is one of the new type as it is stored."
		s.Locks = briefly
	case Rewrite:
		s.Rows = "keep their values, in a table that is written anew."
	default:
		s.Converts = true
		s.Rows = "are converted by a cast in a table that is written anew: it can CUT or ROUND values without a word, or refuse one and fail."
		s.Look = fmt.Sprintf("SELECT count(*) FROM %s WHERE (%s)::text IS DISTINCT FROM %s::text", t.qualified(), conversion, Quote(c.Name))
	}
	if s.Risk != Safe {
		change += " USING " + conversion
		s.Locks = "the table against everything, for as long as it takes to write it and its indexes anew."
		s.Instead = "without a rewrite: add a second column of the new type, have the code write both, fill it in batches, " +
			"then read it only, and drop the old one in a later migration."
		if s.Risk == Destructive {
			s.Instead += fmt.Sprintf(" Another conversion than this cast: --backfill '%s=expression'.", Spell(t.Schema, t.Name, c.Name))
		}
	}
	if old.Default != "" {
		s.Statements = append(s.Statements, t.alterColumn(c, "DROP DEFAULT"))
	}
	s.Statements = append(s.Statements, t.alterColumn(c, change))
	if c.Default != "" {
		s.Statements = append(s.Statements, t.setDefault(c))
	}
	p.add(s)
}
