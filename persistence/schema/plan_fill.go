package schema

import (
	"fmt"
	"strings"
)

// backfill gives existing rows their value of a column.
func (p *planner) backfill(t Table, c Column, expression string) {
	p.fill(t)
	s := Step{
		Risk: DataDependent, phase: backfill, Online: true,
		Title: fmt.Sprintf("fill column %s of %s", Quote(c.Name), t.qualified()),
		Rows: fmt.Sprintf("that have NULL in it get the value of %s, computed for each row. "+
			"A row for which it is NULL or fails stops the migration here.", expression),
		Locks: "the rows of one batch (1,000 pages) at a time, against other writers of these rows; a batch commits before the next.",
		Look:  fmt.Sprintf("SELECT count(*) FROM %s WHERE (%s) IS NULL", t.qualified(), expression),
	}
	if _, old := p.old.Find(t.Schema, t.Name); old && p.isNewColumn(t, c) {
		s.Look = fmt.Sprintf("SELECT count(*), count(*) FILTER (WHERE (%s) IS NULL) AS unfilled FROM %s", expression, t.qualified())
	}
	s.Statements = []string{backfillBatches(t, c, expression)}
	if p.opts.Transactional {
		s.Locks = "every filled row against other writers, until the end of the migration."
		s.Statements = []string{fmt.Sprintf("UPDATE %s SET %s = (%s) WHERE %[2]s IS NULL", t.qualified(), Quote(c.Name), expression)}
	}
	p.add(s)
}

func (p *planner) fill(t Table) {
	if p.filled == nil {
		p.filled = map[relationKey]bool{}
	}
	p.filled[t.key()] = true
}

func (p *planner) isNewColumn(t Table, c Column) bool {
	old, _ := p.old.Find(t.Schema, t.Name)
	_, there := old.Column(c.Name)
	return !there
}

// backfillBatches fills page by page, so that no row stays locked for long and
// none is looked at twice; what was inserted or moved meanwhile is filled by the
// last statement. It may be run again: filled rows are left alone.
func backfillBatches(t Table, c Column, expression string) string {
	tag := "$backfill$"
	for strings.Contains(expression, tag) || strings.Contains(t.qualified()+c.Name, tag) {
		tag = tag[:len(tag)-1] + "_$"
	}
	column := Quote(c.Name)
	update := fmt.Sprintf("UPDATE %s SET %s = (%s) WHERE %s IS NULL", t.qualified(), column, expression, column)
	return strings.NewReplacer("TAG", tag, "UPDATE_ALL", update,
		"RELATION", Literal(t.qualified()), "COLUMN", column, "TABLE", t.qualified(),
		"COMPLAINT", Literal("the backfill of "+strings.ReplaceAll(t.qualified()+"."+column, "%", "%%")+" is NULL for some rows")).Replace(
		`DO TAG
#variable_conflict use_column
DECLARE
	tidings_page bigint;
	tidings_pages bigint := pg_catalog.pg_relation_size(RELATION::regclass) / pg_catalog.current_setting('block_size')::bigint;
BEGIN
	FOR tidings_page IN SELECT pg_catalog.generate_series(0, tidings_pages, 1000) LOOP
		UPDATE_ALL
			AND ctid >= ('(' || tidings_page || ',0)')::tid AND ctid < ('(' || tidings_page + 1000 || ',0)')::tid;
		COMMIT;
	END LOOP;
	UPDATE_ALL;
	IF EXISTS (SELECT FROM TABLE WHERE COLUMN IS NULL) THEN
		RAISE EXCEPTION COMPLAINT;
	END IF;
END
TAG`)
}

// notNullName is the name of the check that stands in while a column becomes
// required.
func (t Table) notNullName(c Column) string { return generated("notnull", t.Name, c.Name) }

// require makes a column NOT NULL. A validated check spares the scan under the
// exclusive lock.
func (p *planner) require(t Table, c Column) {
	p.fill(t)
	s := Step{
		Risk: DataDependent, phase: requireColumns, Online: true,
		Title: fmt.Sprintf("require column %s of %s", Quote(c.Name), t.qualified()),
		Rows:  "are read; if one has NULL in it, the step fails and changes nothing." + oldWriters,
		Locks: "the table against other schema changes while it is read, against everything for two moments.",
		Look:  fmt.Sprintf("SELECT count(*) FROM %s WHERE %s IS NULL", t.qualified(), Quote(c.Name)),
	}
	check := Quote(t.notNullName(c))
	s.Statements = []string{
		t.alterTable("DROP CONSTRAINT IF EXISTS " + check + ", ADD CONSTRAINT " + check + " CHECK (" + Quote(c.Name) + " IS NOT NULL) NOT VALID"),
		t.alterTable("VALIDATE CONSTRAINT " + check),
		t.alterTable("ALTER COLUMN " + Quote(c.Name) + " SET NOT NULL"),
		t.alterTable("DROP CONSTRAINT " + check),
	}
	if p.opts.Transactional {
		s.Locks = "the table against everything while it is read."
		s.Statements = []string{t.alterColumn(c, "SET NOT NULL")}
	}
	p.add(s)
}

// identify has PostgreSQL number the rows of a column from now on.
func (p *planner) identify(t Table, c Column) {
	sequence := Qualified(t.Schema, t.SequenceName(c))
	p.add(Step{
		Risk: DataDependent, phase: addIdentities, Online: true,
		Title:   fmt.Sprintf("number column %s of %s", Quote(c.Name), t.qualified()),
		Rows:    "keep their numbers; new ones go on above the highest. Code of before that inserts its own numbers fails from here on.",
		Locks:   "the table against everything while its highest number is looked up: short with an index on the column.",
		Look:    fmt.Sprintf("SELECT max(%s) FROM %s", Quote(c.Name), t.qualified()),
		Instead: "",
		Statements: []string{
			t.alterColumn(c, "DROP IDENTITY IF EXISTS"),
			t.alterColumn(c, "ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME "+sequence+")"),
			fmt.Sprintf("SELECT pg_catalog.setval(%s::regclass, GREATEST((SELECT max(%s) FROM %s), 0) + 1, false)",
				Literal(sequence), Quote(c.Name), t.qualified()),
		},
	})
}
