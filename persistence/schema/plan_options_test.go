package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/schema"
)

// What the developer has to say, and what does not fit, comes as one error with
// a way out, and no plan.
func TestAPlanAsksForWhatOnlyTheDeveloperKnows(t *testing.T) {
	t.Parallel()
	to := rowsModel()
	addColumn(&to.Tables[0], schema.Column{Name: "x", Type: "text", NotNull: true})
	addColumn(&to.Tables[1], schema.Column{Name: "x", Type: "text", NotNull: true})
	_, err := schema.NewPlan(rowsModel(), to, schema.PlanOptions{})
	require.ErrorIs(t, err, schema.ErrPlan)
	require.ErrorContains(t, err, `--backfill 'we ird.p.x=expression'`)
	require.ErrorContains(t, err, `--backfill 'we ird.t"1.x=expression'`)

	b, err := schema.ParseBackfill(to, "x=1")
	require.NoError(t, err)
	_, err = schema.NewPlan(rowsModel(), to, schema.PlanOptions{Backfills: []schema.Backfill{b}})
	require.ErrorContains(t, err, "--backfill x fits several tables")

	b, err = schema.ParseBackfill(to, "label=1")
	require.NoError(t, err)
	_, err = schema.NewPlan(rowsModel(), rowsModel(), schema.PlanOptions{Backfills: []schema.Backfill{b}})
	require.ErrorContains(t, err, "no column of this name is new or newly required")
	for spec, want := range map[string]string{
		"nothing=1": "of a column that the app has now", "x=": "the expression is empty", "x": "want column=expression",
	} {
		_, err := schema.ParseBackfill(to, spec)
		require.ErrorContains(t, err, want, spec)
	}
}

func TestRenamesAreReadAgainstBothModels(t *testing.T) {
	t.Parallel()
	from := schema.Model{Tables: []schema.Table{
		{Schema: "a", Name: "b", Columns: []schema.Column{{Name: "c.d", Type: "text"}, {Name: "e", Type: "text"}}},
		{Schema: "a.b", Name: "c", Columns: []schema.Column{{Name: "d", Type: "text"}}},
	}}
	to := schema.Model{Tables: []schema.Table{
		{Schema: "a", Name: "b", Columns: []schema.Column{{Name: "x", Type: "text"}, {Name: "e", Type: "text"}}},
		{Schema: "a.b", Name: "c", Columns: []schema.Column{{Name: "x", Type: "text"}}},
	}}
	_, err := schema.ParseRename(from, to, "a.b.c.d=x")
	require.ErrorContains(t, err, "can be read in 2 ways: quote the names")
	_, err = schema.ParseRename(from, to, "a.b.q=x")
	require.ErrorContains(t, err, "want schema.table=new or schema.table.column=new")
	one, err := schema.ParseRename(from, to, `"a"."b"."c.d"="x"`)
	require.NoError(t, err)
	two, err := schema.ParseRename(from, to, `"a.b"."c"."d"=x`)
	require.NoError(t, err)
	plan, err := schema.NewPlan(from, to, schema.PlanOptions{Renames: []schema.Rename{one, two}})
	require.NoError(t, err)
	require.Equal(t, schema.Safe, plan.Risk())
	back, err := schema.NewPlan(to, from, schema.PlanOptions{Renames: schema.InverseRenames([]schema.Rename{one, two})})
	require.NoError(t, err)
	require.Len(t, back.Steps, 2)

	for _, tt := range []struct{ spec, want string }{
		{"a.b.e=x", "is still in the app: it cannot become another"},
		{`"a"."b"."c.d"=e`, "is there already: free its name in a migration before"},
	} {
		r, err := schema.ParseRename(from, to, tt.spec)
		require.NoError(t, err)
		_, err = schema.NewPlan(from, to, schema.PlanOptions{Renames: []schema.Rename{r}})
		require.ErrorContains(t, err, tt.want)
	}
	for spec, want := range map[string]string{
		"table still there": "is still in the app", "name taken": "is there already", "unknown": "the last snapshot has no table",
	} {
		r := map[string]schema.Rename{
			"table still there": schema.RenameTable("a", "b", "a.b", "c"),
			"name taken":        schema.RenameTable("a", "gone", "a", "b"),
			"unknown":           schema.RenameTable("a", "never", "a", "b"),
		}[spec]
		old := schema.Merge(from, schema.Model{Tables: []schema.Table{{Schema: "a", Name: "gone"}}})
		_, err := schema.NewPlan(old, to, schema.PlanOptions{Renames: []schema.Rename{r}})
		require.ErrorContains(t, err, want, spec)
	}
}

func TestKeptTablesStayOutOfThePlan(t *testing.T) {
	t.Parallel()
	to := rowsModel()
	to.Tables = to.Tables[:1]
	plan, err := schema.NewPlan(rowsModel(), to, schema.PlanOptions{Keep: func(s, name string) bool { return s == "we ird" && name == "p" }})
	require.NoError(t, err)
	require.Empty(t, plan.Steps)
	require.Len(t, plan.Kept, 1)
	require.Equal(t, "p", plan.Kept[0].Name)
}

// The risks of changing a type. What is not known for harmless is destructive.
func TestRisksOfTypes(t *testing.T) {
	t.Parallel()
	const safe, rewrite, lossy = schema.Safe, schema.Rewrite, schema.Destructive
	for _, tt := range []struct {
		from, to string
		want     schema.Risk
	}{
		{"character varying(5)", "character varying(5)[]", lossy},
		{"character varying(5)", "character varying", safe},
		{"text", "character varying", safe},
		{"text", "character varying(5)", lossy},
		{"character(5)", "text", lossy},
		{"smallint", "bigint", rewrite},
		{"bigint", "integer", lossy},
		{"bigint", "numeric(20,0)", rewrite},
		{"bigint", "numeric(18,0)", lossy},
		{"bigint", "numeric", rewrite},
		{"integer", "real", lossy},
		{"integer", "double precision", rewrite},
		{"bigint", "double precision", lossy},
		{"double precision", "real", lossy},
		{"real", "double precision", rewrite},
		{"numeric", "numeric(10,2)", lossy},
		{"numeric(10,2)", "numeric", safe},
		{"numeric(10,2)", "numeric(10,3)", lossy},
		{"numeric(10,2)", "bigint", lossy},
		{"timestamp without time zone", "timestamp with time zone", lossy},
		{"timestamp(3) with time zone", "timestamp(6) with time zone", safe},
		{"date", "timestamp without time zone", rewrite},
		{"date", "timestamp with time zone", lossy},
		{"uuid", "text", rewrite},
		{"text", "uuid", lossy},
		{"boolean", "text", rewrite},
		{"json", "jsonb", lossy},
		{"bytea", "text", lossy},
		{"integer[]", "bigint[]", rewrite},
		{"bigint[]", "integer[]", lossy},
		{"character varying(5)[]", "text[]", rewrite},
		{"integer", "mood", lossy},
		{`"My Type"`, "text", lossy},
	} {
		column := func(typ string) schema.Model {
			return schema.Model{Tables: []schema.Table{{Schema: "s", Name: "t", Columns: []schema.Column{{Name: "c", Type: typ}}}}}
		}
		plan, err := schema.NewPlan(column(tt.from), column(tt.to), schema.PlanOptions{})
		require.NoError(t, err)
		require.Equal(t, tt.want, plan.Risk(), "%s to %s", tt.from, tt.to)
	}
}

// Sets of codes are recognised in the forms in which models write them.
func TestSetsOfCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		want     schema.Risk
	}{
		{`"c" IN ('a')`, `"c" IN ('a', 'b')`, schema.Safe},
		{`"c" IN ('a', 'b')`, `"c" IN ('b', 'a')`, schema.Safe},
		{`"c" IN ('a', 'b')`, `"c" IN ('a')`, schema.DataDependent},
		{`"c" IN ('it''s', E'\\')`, `"c" IN (E'\\', 'it''s', 'x')`, schema.Safe},
		{`"c" IN ('it''s', 'x')`, `"c" IN ('it', 's', 'x')`, schema.DataDependent},
		{`c = ANY (ARRAY['a'::text])`, `c = ANY (ARRAY['a'::text, 'b'::text])`, schema.Safe},
		{`"c" IS NULL OR "c" IN ('a')`, `"c" IS NULL OR "c" IN ('a', 'b')`, schema.Safe},
		{`"c" IS NULL OR "c" IN ('a')`, `"c" IN ('a', 'b')`, schema.DataDependent},
		{`"c" IN ('a')`, `"d" IN ('a', 'b')`, schema.DataDependent},
		{`"c" NOT IN ('a')`, `"c" NOT IN ('a', 'b')`, schema.DataDependent},
		{`NOT ("c" IN ('a'))`, `NOT ("c" IN ('a', 'b'))`, schema.DataDependent},
		{`("c" IN ('a')) = false`, `("c" IN ('a', 'b')) = false`, schema.DataDependent},
		{`"c" IN ('a') AND "d" IN ('a')`, `"c" IN ('a', 'b') AND "d" IN ('a')`, schema.DataDependent},
	} {
		check := func(expression string) schema.Model {
			return schema.Model{Tables: []schema.Table{{
				Schema: "s", Name: "t", Columns: []schema.Column{{Name: "c", Type: "text"}, {Name: "d", Type: "text"}},
				Checks: []schema.Check{{Name: "k", Expression: expression}},
			}}}
		}
		plan, err := schema.NewPlan(check(tt.from), check(tt.to), schema.PlanOptions{})
		require.NoError(t, err)
		require.Equal(t, tt.want, plan.Risk(), "%s to %s", tt.from, tt.to)
	}
}
