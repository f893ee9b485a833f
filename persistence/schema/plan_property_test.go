package schema_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

// runPlan executes a plan as goose does: what is not online in one transaction,
// then each online statement on its own.
func runPlan(ctx context.Context, db *sql.DB, p schema.Plan) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, s := range p.Steps {
		if s.Online {
			continue
		}
		for _, statement := range s.Statements {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w\n%s", s.Title, err, statement)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return runOnline(ctx, db, p)
}

func runOnline(ctx context.Context, db *sql.DB, p schema.Plan) error {
	for _, s := range p.Steps {
		if !s.Online {
			continue
		}
		for _, statement := range s.Statements {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w\n%s", s.Title, err, statement)
			}
		}
	}
	return nil
}

func contentsOf(t require.TestingT, db *sql.DB, m schema.Model) map[schema.Object]string {
	ctx := context.Background()
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	contents, err := schema.Contents(ctx, tx, m)
	require.NoError(t, err)
	return contents
}

// emptied drops what an iteration of a property made: faster than a database of
// its own for each.
func emptied(t *rapid.T, db *sql.DB) *sql.DB {
	for _, name := range someSchemas {
		_, err := db.Exec("DROP SCHEMA IF EXISTS " + schema.Quote(name) + " CASCADE")
		require.NoError(t, err)
	}
	return db
}

// For any two models, the plan from one to the other, executed where the first
// stands, leaves what the second makes; so does a plan for one transaction.
func TestAPlanLeadsFromAnyModelToAnyOther(t *testing.T) {
	t.Parallel()
	migrated, made := pgtest.Open(t), pgtest.Open(t)
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawModel(t, "from"), drawModel(t, "to")
		require.NoError(t, from.Validate())
		require.NoError(t, to.Validate())
		options := schema.PlanOptions{Transactional: rapid.Bool().Draw(t, "transactional"), Backfills: fillAll(t, from, to)}
		plan, err := schema.NewPlan(from, to, options)
		require.NoError(t, err)

		db, fresh := emptied(t, migrated), emptied(t, made)
		for _, statement := range from.DDL() {
			_, err := db.Exec(statement)
			require.NoError(t, err, statement)
		}
		for _, statement := range to.DDL() {
			_, err := fresh.Exec(statement)
			require.NoError(t, err, statement)
		}
		require.NoError(t, runPlan(context.Background(), db, plan))
		both := schema.Merge(from, to)
		require.Empty(t, schema.Compare(contentsOf(t, db, both), contentsOf(t, fresh, both)))
		if !options.Transactional {
			require.NoError(t, runOnline(context.Background(), db, plan), "online steps may run again")
			require.Empty(t, schema.Compare(contentsOf(t, db, both), contentsOf(t, fresh, both)))
		}
		differences, err := schema.Differences(context.Background(), db, to)
		require.NoError(t, err)
		require.Empty(t, differences)
	})
}

func TestAPlanToTheSameModelIsEmpty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, "model")
		shuffled := schema.Model{Schemas: m.Schemas, Tables: slices.Clone(m.Tables), Views: m.Views}
		slices.Reverse(shuffled.Tables)
		for i, table := range shuffled.Tables {
			shuffled.Tables[i].Columns = slices.Clone(table.Columns)
			slices.Reverse(shuffled.Tables[i].Columns)
			shuffled.Tables[i].Checks = slices.Clone(table.Checks)
			slices.Reverse(shuffled.Tables[i].Checks)
		}
		plan, err := schema.NewPlan(m, shuffled, schema.PlanOptions{})
		require.NoError(t, err)
		require.Empty(t, plan.Steps)
	})
}

// fillAll gives every column that is new or newly required a value.
func fillAll(t require.TestingT, from, to schema.Model) []schema.Backfill {
	var all []schema.Backfill
	for _, table := range to.Tables {
		old, there := from.Find(table.Schema, table.Name)
		for _, c := range table.Columns {
			before, was := old.Column(c.Name)
			if !there || !table.Required(c) || c.Identity || was && old.Required(before) {
				continue
			}
			value := map[string]string{"integer": "1", "bigint": "length('a')", "boolean": "true"}[c.Type]
			if value == "" {
				value = "'1'"
			}
			b, err := schema.ParseBackfill(to, schema.Qualified(table.Schema, table.Name)+"."+schema.Quote(c.Name)+"="+value)
			require.NoError(t, err)
			all = append(all, b)
		}
	}
	return all
}

var (
	someSchemas = []string{"s", "we ird", `a"b`}
	someTables  = []string{"t1", `t"2`, "@event:T 3"}
	someColumns = []string{"a", "B.c", `d"e`, "f g"}
	someTypes   = []string{"integer", "bigint", "text", "character varying(5)", "numeric(10,2)", "numeric(12,2)", "boolean"}
	defaultsOf  = map[string][]string{
		"integer": {"", "7"}, "bigint": {"", "length('x'::text)"}, "text": {"", "'x'::text", "(1)::text"}, "boolean": {"", "false"},
	}
)

func pick(t *rapid.T, list []string, atLeast int, label string) []string {
	n := rapid.IntRange(atLeast, len(list)).Draw(t, label+" count")
	return rapid.Permutation(list).Draw(t, label)[:n]
}

func drawModel(t *rapid.T, label string) schema.Model {
	var m schema.Model
	named := []string{`a"b`} // in both models, and sometimes another
	if rapid.IntRange(0, 2).Draw(t, label+" schemas") == 0 {
		named = someSchemas[:2+len(label)%2]
	}
	for _, s := range named {
		for _, name := range pick(t, someTables, 1, label+" tables") {
			m.Tables = append(m.Tables, drawTable(t, s, name))
		}
	}
	for i := range m.Tables {
		drawReferences(t, m, i)
	}
	drawViews(t, &m)
	return m
}

func drawTable(t *rapid.T, s, name string) schema.Table {
	table := schema.Table{Schema: s, Name: name}
	for _, column := range pick(t, someColumns, 1, "columns") {
		c := schema.Column{Name: column, Type: rapid.SampledFrom(someTypes).Draw(t, "type"), NotNull: rapid.Bool().Draw(t, "not null")}
		if options := defaultsOf[c.Type]; options != nil {
			c.Default = rapid.SampledFrom(options).Draw(t, "default")
		}
		if strings.HasSuffix(c.Type, "int") && c.Default == "" || c.Type == "integer" && c.Default == "" {
			c.Identity = rapid.IntRange(0, 3).Draw(t, "identity") == 0
		}
		table.Columns = append(table.Columns, c)
		if rapid.Bool().Draw(t, "check") {
			table.Checks = append(table.Checks, drawCheck(t, c))
		}
	}
	names := func(label string) []string {
		var all []string
		for _, c := range table.Columns {
			all = append(all, c.Name)
		}
		return pick(t, all, 1, label)
	}
	if rapid.Bool().Draw(t, "primary key") {
		table.PrimaryKey = names("key columns")
	}
	if rapid.Bool().Draw(t, "unique") {
		if columns := names("unique columns"); !slices.Equal(columns, table.PrimaryKey) { // else PostgreSQL makes one of the two
			table.Uniques = append(table.Uniques, schema.Unique{Columns: columns})
		}
	}
	if rapid.Bool().Draw(t, "index") {
		x := schema.Index{Name: "x " + name, Columns: schema.On(names("index columns")...), Unique: rapid.Bool().Draw(t, "unique index")}
		x.Columns[0].Descending = rapid.Bool().Draw(t, "descending")
		if rapid.Bool().Draw(t, "partial") {
			x.Where = schema.Quote(table.Columns[0].Name) + " IS NOT NULL"
		}
		table.Indexes = append(table.Indexes, x)
	}
	if rapid.Bool().Draw(t, "storage") {
		table.Storage = []schema.Parameter{{Name: "fillfactor", Value: rapid.SampledFrom([]string{"70", "90"}).Draw(t, "fillfactor")}}
	}
	table.Comment = rapid.SampledFrom([]string{"", "it's", "other"}).Draw(t, "comment")
	return table
}

func drawCheck(t *rapid.T, c schema.Column) schema.Check {
	conditions := []string{" IS NOT NULL", "::text <> 'x'"}
	if strings.HasPrefix(c.Type, "text") || strings.HasPrefix(c.Type, "char") {
		conditions = append(conditions, " IN ('1', 'x')", " IN ('1', 'x', 'y''z')")
	}
	if c.Type == "integer" || c.Type == "bigint" || strings.HasPrefix(c.Type, "numeric") {
		conditions = append(conditions, " BETWEEN 0 AND 9", " > 0")
	}
	return schema.Check{Name: "check " + c.Name, Expression: schema.Quote(c.Name) + rapid.SampledFrom(conditions).Draw(t, "condition")}
}

// drawReferences lets table i refer to the primary key of another.
func drawReferences(t *rapid.T, m schema.Model, i int) {
	target := m.Tables[rapid.IntRange(0, len(m.Tables)-1).Draw(t, "target")]
	if len(target.PrimaryKey) != 1 {
		return
	}
	key, _ := target.Column(target.PrimaryKey[0])
	for _, c := range m.Tables[i].Columns {
		if c.Type == key.Type && rapid.Bool().Draw(t, "reference") {
			m.Tables[i].ForeignKeys = append(m.Tables[i].ForeignKeys, schema.ForeignKey{
				Columns: []string{c.Name}, RefSchema: target.Schema, RefTable: target.Name, RefColumns: target.PrimaryKey,
				OnDelete:          rapid.SampledFrom([]string{"", "CASCADE"}).Draw(t, "on delete"),
				InitiallyDeferred: rapid.Bool().Draw(t, "deferred"),
			})
			return
		}
	}
}

func drawViews(t *rapid.T, m *schema.Model) {
	if !rapid.Bool().Draw(t, "view") {
		return
	}
	table := m.Tables[rapid.IntRange(0, len(m.Tables)-1).Draw(t, "viewed")]
	var all []string // by name: SELECT * would show the order of the columns
	for _, c := range table.Columns {
		all = append(all, schema.Quote(c.Name))
	}
	slices.Sort(all)
	what := strings.Join(all, ", ")
	if rapid.Bool().Draw(t, "one column") {
		what = schema.Quote(table.Columns[0].Name)
	}
	m.Views = append(m.Views, schema.View{Schema: table.Schema, Name: "v", Query: "SELECT " + what + " FROM " + schema.Qualified(table.Schema, table.Name)})
	if rapid.Bool().Draw(t, "second view") {
		m.Views = append(m.Views, schema.View{Schema: table.Schema, Name: "w", Query: "SELECT count(*) FROM " + schema.Qualified(table.Schema, "v"), Comment: "second"})
	}
}
