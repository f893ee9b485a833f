package events

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

// named has a name of each kind that an app can choose.
type named struct {
	Text  string
	Lines []string
	By    map[string][]int
}

// Whatever the names are: they are refused, or they name what they should and
// nothing else. Every statement of the kernel that holds an app's names runs.
func FuzzNamesCannotInject(f *testing.F) {
	for _, name := range []string{
		"plain", "we ird", `a"b`, `"; DROP TABLE canary; --`, `"."x`, `'`, `\`, "$1", "$$", "%s", "%[1]s", "😀", "\x00", "\xff",
		"@event", "@position", "id", "ctid", "a.b", "", " ", "a\nb", "U&\"x\"", strings.Repeat("x", 63), strings.Repeat("é", 32), "pg_x", "tidings",
	} {
		f.Add(name, name, name, name)
		f.Add("plain", "Plain", name, `x"`+name)
		f.Add(name, `";`, "plain", "Lines")
	}
	ddl := append(schema.Model{Tables: FrameworkTables("tidings")}.DDL(), `CREATE TABLE canary ()`)
	db := persistence.New(sqlx.NewDb(pgtest.Open(f, ddl...), "postgres"))
	f.Fuzz(func(t *testing.T, namespace, event, column, list string) {
		o := Declare[named](namespace+"."+event, Recorded(), Indexed(ByOccurred), Mapped(
			persistence.Column("Text", column), persistence.Column("Lines", list), persistence.Column("By[key]", column)))
		typ := o.Declared.(*Type)
		plans := NewPlans()
		if len(typ.decl.Check())+len(plans.Check([]*Type{typ})) > 0 {
			return
		}
		tx, err := db.Begin(t.Context(), persistence.TxOptions{})
		require.NoError(t, err)
		defer tx.Rollback()
		proveNames(t.Context(), t, db, tx, plans, typ, column, list)
	})
}

func proveNames(ctx context.Context, t *testing.T, db *persistence.Database, tx *persistence.Transaction, plans *Plans, typ *Type, column, list string) {
	bus := NewBus(db, "tidings", WithPlans(plans))
	require.NoError(t, bus.AddType(typ))
	for _, statement := range (schema.Model{Tables: bus.Tables()}).DDL() {
		_, err := tx.ExecContext(ctx, statement)
		require.NoError(t, err, statement)
	}
	s := bus.types[typ.decl.Input].store
	sent := named{"x", []string{"y"}, map[string][]int{"z": {1}}}
	rows, err := s.plan.Encode(sent)
	require.NoError(t, err)
	r := &row{id: uuid.New(), correlation: "c"}
	fresh, err := s.put(ctx, tx, r, rows, 1, "{7}", false)
	require.NoError(t, err)
	require.True(t, fresh)
	found, err := s.read(ctx, tx, []uuid.UUID{r.id})
	require.NoError(t, err)
	require.Equal(t, sent, found[r.id].Event)
	for _, by := range []Order{ByRecorded, ByOccurred} {
		all, err := s.pick(ctx, tx, &historyQuery{Query: Query{By: by, From: found[r.id].OccurredAt, To: found[r.id].OccurredAt.AddDate(1, 0, 0)}}, &place{})
		require.NoError(t, err)
		require.Len(t, all, 1)
	}
	for part, want := range map[string]string{"": column, list: "@value", "By": column, "By[]": "@value"} {
		var got string
		require.NoError(t, tx.GetContext(ctx, &got, `SELECT `+schema.Quote(want)+`::text FROM `+schema.Qualified(typ.decl.Namespace(), typ.tableName(part))))
		require.Contains(t, "xyz1", got)
	}
	var tables, canaries int
	require.NoError(t, tx.GetContext(ctx, &tables, `SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE '@event:%'`))
	require.Equal(t, 4, tables)
	require.NoError(t, tx.GetContext(ctx, &canaries, `SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
		WHERE relkind = 'r' AND nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema'`))
	require.Equal(t, 4+4, canaries, "the framework's three and the canary")
}
