package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/schema"
)

func TestValidateFindsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	column := schema.Column{Name: "a", Type: "text"}
	m := schema.Model{
		Schemas: []string{"", "pg_mine", "nul\x00", "bad\xff", long},
		Tables: []schema.Table{
			{
				Schema: "s", Name: "t", PrimaryKey: []string{"a", "a"},
				Columns: []schema.Column{
					column, column,
					{Name: "ctid", Type: "text"},
					{Name: long, Type: "text"},
					{Name: "none"},
					{Name: "both", Type: "bigint", Identity: true, Default: "1"},
				},
				Uniques:     []schema.Unique{{Columns: []string{"missing"}}, {Name: "u"}},
				Checks:      []schema.Check{{Name: "u", Expression: "true"}, {Name: "e"}, {Expression: "true"}},
				ForeignKeys: []schema.ForeignKey{{Name: "f", Columns: []string{"a"}, RefSchema: "s", RefTable: "t", OnDelete: "EXPLODE"}},
				Indexes:     []schema.Index{{Name: "t"}, {Name: "i", Columns: []schema.IndexColumn{{}}}, {Name: long, Columns: schema.On("b")}},
				Storage:     []schema.Parameter{{Name: "x = 1) --"}, {Name: "y"}, {Name: "y"}},
			},
			{Schema: "s", Name: "t_pkey"},
			{Schema: "s", Name: "t_both_seq"},
		},
		Views: []schema.View{{Schema: "s", Name: "u"}},
	}
	err := m.Validate()
	require.ErrorIs(t, err, schema.ErrInvalid)
	for _, want := range []string{
		`schema "": name is empty; choose another schema name`,
		`name "pg_mine" belongs to PostgreSQL`,
		`name "nul\x00" contains NUL`,
		`name "bad\xff" is not valid UTF-8`,
		`has 64 bytes, PostgreSQL keeps 63; choose another schema name`,
		`table "s"."t", column "a": name "a" stands twice; choose another with persistence.Column("Path.To.Field", "shorter")`,
		`column "ctid": name "ctid" is a system column of every table`,
		`column "` + long + `": name "` + long + `" has 64 bytes`,
		`column "none": type is empty`,
		`column "both": identity and default exclude each other`,
		`primary key: a column stands twice`,
		`unique "t_missing_key": the table has no column "missing"`,
		`unique "u": no columns`,
		`check "u": constraint name "u" stands twice`,
		`check "e": expression is empty`,
		`check "": name is empty`,
		`foreign key "f": 1 columns reference 0`,
		`foreign key "f": unknown ON DELETE action "EXPLODE"`,
		`index "t": name "t" is taken by table "s"."t"; give the index a name of its own`,
		`index "t": no columns`,
		`index "i": a key needs either a column or an expression`,
		`index "` + long + `": name "` + long + `" has 64 bytes`,
		`the table has no column "b"`,
		`storage parameter "x = 1) --" is no plain name`,
		`storage parameter "y" stands twice`,
		`table "s"."t_pkey": name "t_pkey" is taken by table "s"."t", primary key`,
		`table "s"."t_both_seq": name "t_both_seq" is taken by table "s"."t", column "both", its sequence`,
		`view "s"."u": name "u" is taken by table "s"."t", unique "u"`,
		`view "s"."u": query is empty`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 29)
}

func TestValidateRefusesTooManyColumns(t *testing.T) {
	t.Parallel()
	table := schema.Table{Schema: "s", Name: "t"}
	for i := range schema.MaxColumns + 1 {
		table.Columns = append(table.Columns, schema.Column{Name: strings.Repeat("c", i%60+1) + string(rune('A'+i/60)), Type: "text"})
	}
	require.ErrorContains(t, schema.Model{Tables: []schema.Table{table}}.Validate(), "1601 columns, PostgreSQL allows 1600")
}

// Two long names that agree at the beginning yield two generated names, each
// within the limit and whole characters.
func TestGeneratedNamesFitAndStayApart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, end := range []string{"a", "b", "é"} {
		table := schema.Table{Schema: "s", Name: strings.Repeat("é", 30) + end}
		x := schema.Index{Columns: schema.On("one", "two")}
		for _, name := range []string{
			table.PrimaryKeyName(), table.IndexName(x), table.UniqueName(schema.Unique{Columns: []string{"one"}}),
			table.SequenceName(schema.Column{Name: "id"}), table.ForeignKeyName(schema.ForeignKey{Columns: []string{"one"}}),
		} {
			require.NoError(t, schema.CheckName(name))
			require.False(t, seen[name], name)
			seen[name] = true
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	require.Equal(t, `"plain"`, schema.Quote("plain"))
	require.Equal(t, `"a""b"`, schema.Quote(`a"b`))
	require.Equal(t, `""`, schema.Quote(""))
	require.Equal(t, `"example.delivery"."@event:StopMoved"`, schema.Qualified("example.delivery", "@event:StopMoved"))
}

func TestValidateRefusesAUniqueConstraintThatIsThePrimaryKey(t *testing.T) {
	t.Parallel()
	table := schema.Table{
		Schema: "s", Name: "t", Columns: []schema.Column{{Name: "a", Type: "text"}},
		PrimaryKey: []string{"a"}, Uniques: []schema.Unique{{Columns: []string{"a"}}},
	}
	require.ErrorContains(t, schema.Model{Tables: []schema.Table{table}}.Validate(), "the primary key has the same columns")
}
