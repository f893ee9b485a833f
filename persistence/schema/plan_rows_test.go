package schema_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

const tName = `"we ird"."t""1"`

// rowsModel is what the cases below change. Its third row is the odd one: the
// same n as the second, no opt, and a parent that is not there.
func rowsModel() schema.Model {
	return schema.Model{
		Tables: []schema.Table{
			{
				Schema: "we ird", Name: `t"1`, PrimaryKey: []string{"id"},
				Columns: []schema.Column{
					{Name: "id", Type: "bigint", Identity: true},
					{Name: "n", Type: "integer", NotNull: true},
					{Name: "code", Type: "text", NotNull: true},
					{Name: "v", Type: "character varying(5)", Default: "'v'::character varying"},
					{Name: "price", Type: "numeric(10,2)"},
					{Name: "at", Type: "timestamp(3) with time zone"},
					{Name: "opt", Type: "text"},
					{Name: "parent", Type: "bigint"},
				},
				Checks: []schema.Check{
					{Name: "code", Expression: `"code" IN ('A', 'B', 'C')`},
					{Name: "n", Expression: `"n" > 0`},
				},
				Indexes: []schema.Index{{Name: "by n", Columns: schema.On("n")}},
				Storage: []schema.Parameter{{Name: "fillfactor", Value: "80"}},
				Comment: "old",
			},
			{Schema: "we ird", Name: "p", PrimaryKey: []string{"id"}, Columns: []schema.Column{{Name: "id", Type: "bigint"}, {Name: "label", Type: "text"}}},
		},
		Views: []schema.View{{Schema: "we ird", Name: "seen", Query: `SELECT id, v FROM ` + tName}},
	}
}

const rowsData = `INSERT INTO "we ird".p VALUES (1, 'one'), (2, 'two');
INSERT INTO ` + tName + ` (n, code, v, price, at, opt, parent) VALUES
	(1, 'A', 'one', 1.25, '2026-01-01 00:00:00.123Z', '7', 1),
	(2, 'B', 'two', 2.50, '2026-01-02 00:00:00.456Z', '8', 2),
	(2, 'A', 'three', 3.75, '2026-01-03 00:00:00.789Z', NULL, 9)`

// change is a case: what the developer changes, what the plan says of it, and
// what is then true of the rows.
type change struct {
	name    string
	edit    func(m *schema.Model, t *schema.Table)
	rename  string
	fill    string
	mend    string // run before, so that the step can succeed
	risk    schema.Risk
	title   string // of the step with that risk
	rewrite bool
	query   string // one text, after the plan
	want    string
	fails   string // without mend
}

var changes = []change{
	{
		name: "add nullable column", risk: schema.Safe, title: `add column "note" to `,
		edit:  func(_ *schema.Model, t *schema.Table) { addColumn(t, schema.Column{Name: "note", Type: "text"}) },
		query: `SELECT count(*) FILTER (WHERE note IS NULL) FROM TBL`, want: "3",
	},
	{
		name: "add column with constant default", risk: schema.Safe, title: `add column "note" to `,
		edit: func(_ *schema.Model, t *schema.Table) {
			addColumn(t, schema.Column{Name: "note", Type: "text", NotNull: true, Default: "'-'::text"})
		},
		query: `SELECT string_agg(note, '') FROM TBL`, want: "---",
	},
	{
		name: "add column with a default of its own for each row", risk: schema.Rewrite, title: `add column "note" to `, rewrite: true,
		edit: func(_ *schema.Model, t *schema.Table) {
			addColumn(t, schema.Column{Name: "note", Type: "uuid", NotNull: true, Default: "gen_random_uuid()"})
		},
		query: `SELECT count(DISTINCT note) FROM TBL`, want: "3",
	},
	{
		name: "add required column, constant backfill", risk: schema.Safe, title: `add column "note" to `, fill: `note='none'`,
		edit: func(_ *schema.Model, t *schema.Table) {
			addColumn(t, schema.Column{Name: "note", Type: "text", NotNull: true})
		},
		query: `SELECT string_agg(note, ',') || (SELECT count(*) FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum AND a.attname = 'note') FROM TBL`,
		want:  "none,none,none0",
	},
	{
		name: "add required column, computed backfill", risk: schema.DataDependent, title: `fill column "note" of `, fill: `we ird.t"1.note=code || n`,
		edit: func(_ *schema.Model, t *schema.Table) {
			addColumn(t, schema.Column{Name: "note", Type: "text", NotNull: true})
		},
		query: `SELECT string_agg(note, ',' ORDER BY id) FROM TBL`, want: "A1,B2,A2",
	},
	{
		name: "add required column, backfill that is NULL for a row", risk: schema.DataDependent, title: `require column "note" of `, fill: `note=opt || n`,
		edit: func(_ *schema.Model, t *schema.Table) {
			addColumn(t, schema.Column{Name: "note", Type: "text", NotNull: true})
		},
		fails: "is NULL for some rows", mend: `UPDATE TBL SET opt = '' WHERE opt IS NULL`,
		query: `SELECT string_agg(note, ',' ORDER BY id) FROM TBL`, want: "71,82,2",
	},
	{
		name: "add identity column", risk: schema.Rewrite, title: `add column "number" to `, rewrite: true,
		edit: func(_ *schema.Model, t *schema.Table) {
			addColumn(t, schema.Column{Name: "number", Type: "bigint", Identity: true})
		},
		query: `SELECT count(DISTINCT number) FROM TBL`, want: "3",
	},
	{
		name: "number a column", risk: schema.DataDependent, title: `number column "id" of `,
		edit: func(m *schema.Model, _ *schema.Table) {
			editColumn(&m.Tables[1], "id", func(c *schema.Column) { c.Identity = true })
		},
		query: `WITH i AS (INSERT INTO "we ird".p (label) VALUES ('three') RETURNING id) SELECT id FROM i`, want: "3",
	},
	{
		name: "end a numbering", risk: schema.Safe, title: `end the numbering of column "id" of `,
		edit: func(_ *schema.Model, t *schema.Table) {
			editColumn(t, "id", func(c *schema.Column) { c.Identity = false })
		},
		query: `SELECT max(id) FROM TBL`, want: "3",
	},
	{
		name: "drop column", risk: schema.Destructive, title: `drop column "opt" of `,
		edit:  func(_ *schema.Model, t *schema.Table) { dropColumn(t, "opt") },
		query: `SELECT count(*) FROM pg_attribute WHERE attrelid = 'TBL'::regclass AND attname = 'opt'`, want: "0",
	},
	{
		name: "require a column", risk: schema.DataDependent, title: `require column "opt" of `,
		edit: func(_ *schema.Model, t *schema.Table) {
			editColumn(t, "opt", func(c *schema.Column) { c.NotNull = true })
		},
		fails: "is violated by some row", mend: `UPDATE TBL SET opt = '' WHERE opt IS NULL`,
		query: `SELECT count(opt) FROM TBL`, want: "3",
	},
	{
		name: "require a column, with backfill", risk: schema.DataDependent, title: `require column "opt" of `, fill: `opt=''`,
		edit: func(_ *schema.Model, t *schema.Table) {
			editColumn(t, "opt", func(c *schema.Column) { c.NotNull = true })
		},
		query: `SELECT string_agg(opt, ',' ORDER BY id) FROM TBL`, want: "7,8,",
	},
	{
		name: "require nothing any more", risk: schema.Safe, title: `let column "code" of `,
		edit: func(_ *schema.Model, t *schema.Table) {
			editColumn(t, "code", func(c *schema.Column) { c.NotNull = false })
		},
		query: `SELECT string_agg(code, '' ORDER BY id) FROM TBL`, want: "ABA",
	},
	{
		name: "change a default", risk: schema.Safe, title: `column "v" of ` + tName + ` gets default`,
		edit: func(_ *schema.Model, t *schema.Table) {
			editColumn(t, "v", func(c *schema.Column) { c.Default = "'w'::character varying" })
		},
		query: `SELECT string_agg(v, ',' ORDER BY id) FROM TBL`, want: "one,two,three",
	},
	{
		name: "widen varchar", risk: schema.Safe, title: `change column "v" of `,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "v", "character varying(50)") },
		query: `SELECT string_agg(v, ',' ORDER BY id) FROM "we ird".seen`, want: "one,two,three",
	},
	{
		name: "varchar to text", risk: schema.Safe, title: `change column "v" of `,
		edit: func(_ *schema.Model, t *schema.Table) {
			editColumn(t, "v", func(c *schema.Column) { c.Type, c.Default = "text", "'v'::text" })
		},
		query: `SELECT string_agg(v, ',' ORDER BY id) FROM TBL`, want: "one,two,three",
	},
	{
		name: "narrow varchar", risk: schema.Destructive, title: `change column "v" of `, rewrite: true,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "v", "character varying(3)") },
		query: `SELECT string_agg(v, ',' ORDER BY id) FROM TBL`, want: "one,two,thr", // cut, without a word
	},
	{
		name: "widen integer", risk: schema.Rewrite, title: `change column "n" of `, rewrite: true,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "n", "bigint") },
		query: `SELECT string_agg(n::text, ',' ORDER BY id) FROM TBL`, want: "1,2,2",
	},
	{
		name: "narrow integer", risk: schema.Destructive, title: `change column "n" of `, rewrite: true,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "n", "smallint") },
		query: `SELECT string_agg(n::text, ',' ORDER BY id) FROM TBL`, want: "1,2,2",
	},
	{
		name: "widen numeric", risk: schema.Safe, title: `change column "price" of `,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "price", "numeric(12,2)") },
		query: `SELECT string_agg(price::text, ',' ORDER BY id) FROM TBL`, want: "1.25,2.50,3.75",
	},
	{
		name: "more scale", risk: schema.Rewrite, title: `change column "price" of `, rewrite: true,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "price", "numeric(13,5)") },
		query: `SELECT sum(price) FROM TBL`, want: "7.50000",
	},
	{
		name: "less scale", risk: schema.Destructive, title: `change column "price" of `, rewrite: true,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "price", "numeric(10,1)") },
		query: `SELECT string_agg(price::text, ',' ORDER BY id) FROM TBL`, want: "1.3,2.5,3.8", // rounded, without a word
	},
	{
		name: "more precise time", risk: schema.Safe, title: `change column "at" of `,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "at", "timestamp with time zone") },
		query: `SELECT to_char(max(at), 'SS.US') FROM TBL`, want: "00.789000",
	},
	{
		name: "less precise time", risk: schema.Destructive, title: `change column "at" of `, rewrite: true,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "at", "timestamp(0) with time zone") },
		query: `SELECT to_char(max(at), 'SS.US') FROM TBL`, want: "01.000000", // rounded into another second
	},
	{
		name: "another type, with a conversion", risk: schema.Destructive, title: `change column "opt" of `, rewrite: true, fill: `opt=opt::integer * 2`,
		edit:  func(_ *schema.Model, t *schema.Table) { retype(t, "opt", "integer") },
		query: `SELECT sum(opt) FROM TBL`, want: "30",
	},
	{
		name: "add code", risk: schema.Safe, title: `codes 'D' are added`,
		edit:  func(_ *schema.Model, t *schema.Table) { t.Checks[0].Expression = `"code" IN ('A', 'B', 'C', 'D')` },
		query: `WITH i AS (INSERT INTO TBL (n, code) VALUES (5, 'D') RETURNING code) SELECT code FROM i`, want: "D",
	},
	{
		name: "remove code that rows have", risk: schema.DataDependent, title: `codes 'B' are removed`,
		edit:  func(_ *schema.Model, t *schema.Table) { t.Checks[0].Expression = `"code" IN ('A', 'C')` },
		fails: `is violated by some row`, mend: `UPDATE TBL SET code = 'C' WHERE code = 'B'`,
		query: `SELECT string_agg(code, '' ORDER BY id) FROM TBL`, want: "ACA",
	},
	{
		name: "swap codes", risk: schema.DataDependent, title: `codes 'C' are removed, codes 'D' are added`,
		edit:  func(_ *schema.Model, t *schema.Table) { t.Checks[0].Expression = `"code" IN ('A', 'B', 'D')` },
		query: `SELECT string_agg(code, '' ORDER BY id) FROM TBL`, want: "ABA",
	},
	{
		name: "add check", risk: schema.DataDependent, title: `add check "few" to `,
		edit: func(_ *schema.Model, t *schema.Table) {
			t.Checks = append(t.Checks, schema.Check{Name: "few", Expression: `"n" < 2`})
		},
		fails: `check constraint "few" of relation "t"1" is violated by some row`, mend: `UPDATE TBL SET n = 1`,
		query: `SELECT convalidated FROM pg_constraint WHERE conname = 'few'`, want: "true",
	},
	{
		name: "drop check", risk: schema.Safe, title: `drop check "n" of `,
		edit:  func(_ *schema.Model, t *schema.Table) { t.Checks = t.Checks[:1] },
		query: `WITH i AS (INSERT INTO TBL (n, code) VALUES (-5, 'A') RETURNING n) SELECT n FROM i`, want: "-5",
	},
	{
		name: "add unique constraint", risk: schema.DataDependent, title: `add unique constraint "t""1_n_key" to `,
		edit:  func(_ *schema.Model, t *schema.Table) { t.Uniques = []schema.Unique{{Columns: []string{"n"}}} },
		fails: `could not create unique index`, mend: `UPDATE TBL SET n = id`,
		query: `SELECT count(*) FROM pg_constraint WHERE conname = 't"1_n_key' AND contype = 'u'`, want: "1",
	},
	{
		name: "another primary key", risk: schema.DataDependent, title: `add primary key "t""1_pkey" to `,
		edit:  func(_ *schema.Model, t *schema.Table) { t.PrimaryKey = []string{"code", "n"} },
		fails: "", query: `SELECT count(*) FROM TBL`, want: "3",
	},
	{
		name: "add foreign key", risk: schema.DataDependent, title: `add foreign key "t""1_parent_fkey" of `,
		edit: func(_ *schema.Model, t *schema.Table) {
			t.ForeignKeys = []schema.ForeignKey{{Columns: []string{"parent"}, RefSchema: "we ird", RefTable: "p", RefColumns: []string{"id"}}}
		},
		fails: "violates foreign key constraint", mend: `UPDATE TBL SET parent = NULL WHERE parent = 9`,
		query: `SELECT convalidated FROM pg_constraint WHERE contype = 'f'`, want: "true",
	},
	{
		name: "add index", risk: schema.Safe, title: `create index "by code" on `,
		edit: func(_ *schema.Model, t *schema.Table) {
			t.Indexes = append(t.Indexes, schema.Index{Name: "by code", Columns: schema.On("code")})
		},
		query: `SELECT indisvalid FROM pg_index WHERE indexrelid = '"we ird"."by code"'::regclass`, want: "true",
	},
	{
		name: "replace index", risk: schema.Safe, title: `replace index "by n" on `,
		edit:  func(_ *schema.Model, t *schema.Table) { t.Indexes[0].Columns = schema.On("n", "id") },
		query: `SELECT pg_get_indexdef('"we ird"."by n"'::regclass) LIKE '%(n, id)'`, want: "true",
	},
	{
		name: "make index unique", risk: schema.DataDependent, title: `replace index "by n" on `,
		edit:  func(_ *schema.Model, t *schema.Table) { t.Indexes[0].Unique = true },
		fails: `could not create unique index`, mend: `UPDATE TBL SET n = id`,
		query: `SELECT indisunique FROM pg_index WHERE indexrelid = '"we ird"."by n"'::regclass`, want: "true",
	},
	{
		name: "drop index", risk: schema.Safe, title: `drop index "by n" of `,
		edit:  func(_ *schema.Model, t *schema.Table) { t.Indexes = nil },
		query: `SELECT to_regclass('"we ird"."by n"') IS NULL`, want: "true",
	},
	{
		name: "change storage and comment", risk: schema.Safe, title: `change storage parameters of `,
		edit: func(_ *schema.Model, t *schema.Table) {
			t.Storage, t.Comment = []schema.Parameter{{Name: "autovacuum_enabled", Value: "false"}}, "new"
		},
		query: `SELECT reloptions::text || obj_description(oid) FROM pg_class WHERE oid = 'TBL'::regclass`, want: "{autovacuum_enabled=false}new",
	},
	{
		name: "create table", risk: schema.Safe, title: `create table "other"."new"`,
		edit: func(m *schema.Model, _ *schema.Table) {
			m.Tables = append(m.Tables, schema.Table{
				Schema: "other", Name: "new", Columns: []schema.Column{{Name: "p", Type: "bigint"}}, Indexes: []schema.Index{{Columns: schema.On("p")}},
				ForeignKeys: []schema.ForeignKey{{Columns: []string{"p"}, RefSchema: "we ird", RefTable: "p", RefColumns: []string{"id"}}}, Comment: "c",
			})
		},
		query: `SELECT count(*) FROM other.new`, want: "0",
	},
	{
		name: "drop table", risk: schema.Destructive, title: `drop table "we ird"."p"`,
		edit:  func(m *schema.Model, _ *schema.Table) { m.Tables = m.Tables[:1] },
		query: `SELECT to_regclass('"we ird".p') IS NULL`, want: "true",
	},
	{
		name: "drop view", risk: schema.Safe, title: `drop view "we ird"."seen"`,
		edit:  func(m *schema.Model, _ *schema.Table) { m.Views = nil },
		query: `SELECT to_regclass('"we ird".seen') IS NULL`, want: "true",
	},
	{
		name: "change view", risk: schema.Safe, title: `create view "we ird"."seen"`,
		edit:  func(m *schema.Model, _ *schema.Table) { m.Views[0].Query = `SELECT code FROM ` + tName },
		query: `SELECT string_agg(code, '') FROM "we ird".seen`, want: "ABA",
	},
	{
		name: "rename column", risk: schema.Safe, title: `rename column "n" of `, rename: `we ird.t"1.n=N um`,
		edit: func(_ *schema.Model, t *schema.Table) {
			editColumn(t, "n", func(c *schema.Column) { c.Name = "N um" })
			t.Checks[1].Expression, t.Indexes[0].Columns = `"N um" > 0`, schema.On("N um")
		},
		query: `SELECT string_agg("N um"::text, ',' ORDER BY id) FROM TBL`, want: "1,2,2",
	},
	{
		name: "rename table", risk: schema.Safe, title: `rename table "we ird"."p" to "else"."where"`, rename: `we ird.p=else.where`,
		edit:  func(m *schema.Model, _ *schema.Table) { m.Tables[1].Schema, m.Tables[1].Name = "else", "where" },
		query: `SELECT string_agg(label, ',' ORDER BY id) FROM "else"."where"`, want: "one,two",
	},
	{
		name: "a rename that is not given", risk: schema.Destructive, title: `drop column "opt" of `,
		edit: func(_ *schema.Model, t *schema.Table) {
			editColumn(t, "opt", func(c *schema.Column) { c.Name = "optional" })
		},
		query: `SELECT count(optional) FROM TBL`, want: "0",
	},
}

func addColumn(t *schema.Table, c schema.Column) { t.Columns = append(t.Columns, c) }

func dropColumn(t *schema.Table, name string) {
	t.Columns = slices.DeleteFunc(t.Columns, func(c schema.Column) bool { return c.Name == name })
}

func editColumn(t *schema.Table, name string, edit func(*schema.Column)) {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			edit(&t.Columns[i])
		}
	}
}

func retype(t *schema.Table, name, to string) {
	editColumn(t, name, func(c *schema.Column) { c.Type = to })
}

// Every kind of step: the plan tells its risk, and what it does to rows that are
// there is what it said.
func TestStepsDoToExistingRowsWhatTheySay(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		for _, inOne := range []bool{false, true} {
			name := c.name
			if inOne {
				name += ", in one transaction"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c.run(t, inOne)
			})
		}
	}
}

func (c change) plan(t *testing.T, inOne bool) (schema.Model, schema.Plan) {
	from, to := rowsModel(), rowsModel()
	c.edit(&to, &to.Tables[0])
	require.NoError(t, to.Validate())
	options := schema.PlanOptions{Transactional: inOne}
	if c.rename != "" {
		r, err := schema.ParseRename(from, to, c.rename)
		require.NoError(t, err)
		options.Renames = append(options.Renames, r)
	}
	if c.fill != "" {
		b, err := schema.ParseBackfill(to, c.fill)
		require.NoError(t, err)
		options.Backfills = append(options.Backfills, b)
	}
	plan, err := schema.NewPlan(from, to, options)
	require.NoError(t, err)
	return to, plan
}

func (c change) run(t *testing.T, inOne bool) {
	ctx := context.Background()
	to, plan := c.plan(t, inOne)
	require.Equal(t, c.risk, plan.Risk())
	require.True(t, c.title != "" && slices.ContainsFunc(plan.Steps, func(s schema.Step) bool {
		named := strings.Contains(s.Title, c.title) || inOne && strings.Contains(strings.Replace(s.Title, "create index", "replace index", 1), c.title)
		return named && s.Risk == c.risk
	}), "%v", plan.Steps)
	for _, s := range plan.Steps {
		require.NotEmpty(t, s.Rows, s.Title)
		require.NotEmpty(t, s.Locks, s.Title)
		require.False(t, s.Risk == schema.Rewrite && s.Instead == "", "%s names no way without a rewrite", s.Title)
		require.False(t, inOne && s.Online)
	}
	db := pgtest.Open(t, append(rowsModel().DDL(), rowsData)...)
	text := func(q string) string { return strings.ReplaceAll(q, "TBL", tName) }
	if c.fails != "" {
		err := runPlan(ctx, db, plan)
		require.ErrorContains(t, err, ignored(c.fails, inOne))
		require.Equal(t, "3", one(t, db, text(`SELECT count(*) FROM TBL`)), "no row is lost")
		_, err = db.Exec(text(c.mend))
		require.NoError(t, err)
	}
	before := filenode(t, db)
	if c.fails != "" && !inOne {
		require.NoError(t, runOnline(ctx, db, plan), "after its cause was mended the file goes on")
	} else {
		require.NoError(t, runPlan(ctx, db, plan))
	}
	require.Equal(t, c.rewrite, before != filenode(t, db), "whether the table was written anew")
	require.Equal(t, c.want, one(t, db, text(c.query)))
	differences, err := schema.Differences(ctx, db, to)
	require.NoError(t, err)
	require.Empty(t, differences)
}

// ignored is the message in one transaction, where some checks are PostgreSQL's
// own.
func ignored(message string, inOne bool) string {
	if inOne && (strings.Contains(message, "is NULL for some rows") || strings.Contains(message, "is violated by some row")) {
		return ""
	}
	return message
}

func filenode(t *testing.T, db *sql.DB) string {
	return one(t, db, `SELECT coalesce(pg_relation_filenode(to_regclass('`+tName+`')), 0)`)
}

func one(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var text string
	require.NoError(t, db.QueryRow(query).Scan(&text), query)
	return text
}
