package schema_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

// sample has one of everything, with names that need quoting.
func sample() schema.Model {
	return schema.Model{
		Schemas: []string{"spare"},
		Tables: []schema.Table{
			{
				Schema: "tidings", Name: "delivery",
				Columns: []schema.Column{
					{Name: "id", Type: "bigint", Identity: true},
					{Name: "listener_id", Type: "integer", NotNull: true},
					{Name: "state", Type: "text", NotNull: true, Default: "'READY'::text"},
					{Name: "created_at", Type: "timestamp with time zone", NotNull: true, Default: "clock_timestamp()"},
					{Name: "claim_token", Type: "uuid"},
					{Name: "cost", Type: "numeric(20,0)"},
				},
				PrimaryKey: []string{"id"},
				Uniques:    []schema.Unique{{Columns: []string{"listener_id", "claim_token"}}},
				Checks:     []schema.Check{{Name: "claimed", Expression: "(state = 'CLAIMED') = (claim_token IS NOT NULL)"}},
				ForeignKeys: []schema.ForeignKey{{
					Columns: []string{"listener_id"}, RefSchema: "tidings", RefTable: "listener", RefColumns: []string{"id"},
					OnDelete: "RESTRICT", InitiallyDeferred: true,
				}},
				Indexes: []schema.Index{
					{Name: "ready", Columns: schema.On("listener_id", "created_at", "id"), Where: "state = 'READY'"},
					{Columns: []schema.IndexColumn{{Column: "created_at", Descending: true}, {Expression: "lower(state)"}}},
				},
				Storage: []schema.Parameter{
					{Name: "autovacuum_vacuum_scale_factor", Value: "0"}, {Name: "fillfactor", Value: "80"},
				},
				Comment: `the jobs' table, with a \ in it`,
			},
			{
				Schema: "tidings", Name: "listener",
				Columns:    []schema.Column{{Name: "id", Type: "integer"}, {Name: "name", Type: "text", NotNull: true}},
				PrimaryKey: []string{"id"},
				Indexes:    []schema.Index{{Columns: schema.On("name"), Unique: true}},
			},
			{Schema: `example."q"`, Name: "@event:Nothing"},
		},
		Views: []schema.View{
			{Schema: "tidings", Name: "jobs", Query: "SELECT id, state FROM tidings.delivery", Comment: "for people"},
		},
	}
}

func TestDDLIsOrderedAndDeterministic(t *testing.T) {
	t.Parallel()
	m := sample()
	want := m.DDL()
	slices.Reverse(m.Tables)
	require.Equal(t, want, m.DDL())
	require.Equal(t, `CREATE SCHEMA IF NOT EXISTS "example.""q"""`, want[0])
	require.Equal(t, `CREATE TABLE "example.""q"""."@event:Nothing" ()`, want[3])
	require.Equal(t, strings.Join([]string{
		`CREATE TABLE "tidings"."delivery" (`,
		`	"id" bigint NOT NULL GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME "tidings"."delivery_id_seq"),`,
		`	"listener_id" integer NOT NULL,`,
		`	"state" text NOT NULL DEFAULT 'READY'::text,`,
		`	"created_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),`,
		`	"claim_token" uuid,`,
		`	"cost" numeric(20,0),`,
		`	CONSTRAINT "delivery_pkey" PRIMARY KEY ("id"),`,
		`	CONSTRAINT "delivery_listener_id_claim_token_key" UNIQUE ("listener_id", "claim_token"),`,
		`	CONSTRAINT "claimed" CHECK ((state = 'CLAIMED') = (claim_token IS NOT NULL))`,
		`) WITH (autovacuum_vacuum_scale_factor = '0', fillfactor = '80')`,
	}, "\n"), want[4])
	require.Equal(t, []string{
		`ALTER TABLE "tidings"."delivery" ADD CONSTRAINT "delivery_listener_id_fkey" FOREIGN KEY ("listener_id")` +
			` REFERENCES "tidings"."listener" ("id") ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED`,
		`CREATE INDEX "ready" ON "tidings"."delivery" ("listener_id", "created_at", "id") WHERE state = 'READY'`,
		`CREATE INDEX "delivery_created_at_expr_idx" ON "tidings"."delivery" ("created_at" DESC, (lower(state)))`,
		`CREATE UNIQUE INDEX "listener_name_idx" ON "tidings"."listener" ("name")`,
		"CREATE VIEW \"tidings\".\"jobs\" AS\nSELECT id, state FROM tidings.delivery",
		`COMMENT ON TABLE "tidings"."delivery" IS E'the jobs'' table, with a \\ in it'`,
		`COMMENT ON VIEW "tidings"."jobs" IS 'for people'`,
	}, want[6:])
}

func TestDDLCreatesTheModel(t *testing.T) {
	t.Parallel()
	m := sample()
	require.NoError(t, m.Validate())
	db := pgtest.Open(t, m.DDL()...)
	lines, err := schema.Differences(context.Background(), db, m)
	require.NoError(t, err)
	require.Empty(t, lines)
	var comment string
	require.NoError(t, db.QueryRow(`SELECT obj_description('tidings.delivery'::regclass)`).Scan(&comment))
	require.Equal(t, m.Tables[0].Comment, comment)
}

func TestMergeSortsAndKeepsDuplicatesForValidate(t *testing.T) {
	t.Parallel()
	m := sample()
	merged := schema.Merge(m, schema.Model{Schemas: []string{"spare", "a"}, Tables: m.Tables[1:2]})
	require.Equal(t, []string{"a", "spare"}, merged.Schemas)
	require.Len(t, merged.Tables, 4)
	require.Equal(t, "@event:Nothing", merged.Tables[0].Name)
	require.ErrorContains(t, merged.Validate(), `name "listener" is taken by table "tidings"."listener"`)
	require.Equal(t, "delivery", m.Tables[0].Name, "the parts are not touched")
}

// What Validate accepts, PostgreSQL accepts under exactly this name.
func TestAnyValidNameSurvives(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	name := rapid.OneOf(
		rapid.StringOfN(rapid.Rune(), 1, 20, 70),
		rapid.StringOfN(rapid.RuneFrom([]rune(`ab".' @:\é😀`)), 1, 30, 70),
		rapid.SampledFrom([]string{"ctid", "xmin", "select", "pg_x", "Ä", strings.Repeat("é", 31), strings.Repeat("x", 63)}),
	)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(name, 4, 4, rapid.ID[string]).Draw(t, "names")
		m := schema.Model{Tables: []schema.Table{{
			Schema: names[0], Name: names[1], PrimaryKey: names[2:4],
			Columns: []schema.Column{{Name: names[2], Type: "integer", Identity: true}, {Name: names[3], Type: "text"}},
			Checks:  []schema.Check{{Name: names[2], Expression: schema.Quote(names[2]) + " > 0"}},
			Indexes: []schema.Index{{Columns: schema.On(names[2:4]...)}, {Columns: schema.On(names[3])}},
		}}}
		if m.Validate() != nil {
			return
		}
		tx, err := db.Begin()
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		for _, statement := range m.DDL() {
			_, err := tx.Exec(statement)
			require.NoError(t, err, statement)
		}
		lines, err := schema.Differences(context.Background(), tx, m)
		require.NoError(t, err)
		require.Empty(t, lines)
	})
}
