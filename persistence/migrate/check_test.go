package migrate_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/migrate"
	"github.com/tidings-go/tidings/persistence/pgserver"
	"github.com/tidings-go/tidings/persistence/schema"
)

// ownServer has no databases but those of one test.
func ownServer(t *testing.T) (url string, scratches func() int) {
	server, err := pgserver.Start(t.Context(), pgserver.Config{TempDir: pgserver.MemoryDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	url = server.URL("postgres")
	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return url, func() (n int) {
		require.NoError(t, db.QueryRow(`SELECT count(*) FROM pg_database WHERE datname LIKE 'tidings%'`).Scan(&n))
		return n
	}
}

// Check finds every way in which an edited migration drifts from the model, and
// leaves no database behind.
func TestCheckFindsDrift(t *testing.T) {
	t.Parallel()
	url, scratches := ownServer(t)
	dir := t.TempDir()
	m := rich()
	m.Tables[1].Columns[0].Type = "integer"
	m.Tables[1].ForeignKeys = nil
	initial := plan(t, dir, 1, m, migrate.Options{Name: "initial"}).Files[0]
	o := migrate.CheckOptions{URL: url, Framework: "we ird"}
	report, err := migrate.Check(t.Context(), open(t, dir), m, o)
	require.NoError(t, err)
	require.Equal(t, migrate.Report{Migrations: 1}, report)
	require.True(t, report.OK())

	for _, tt := range []struct{ name, replace, by, want string }{
		{"type", `"size" integer NOT NULL`, `"size" bigint NOT NULL`, `column "size": the migrations make bigint NOT NULL, the model says integer NOT NULL`},
		{"nullable", `"size" integer NOT NULL`, `"size" integer`, `column "size": the migrations make integer, the model says integer NOT NULL`},
		{"default", `"no te" text`, `"no te" text DEFAULT 'x'`, `column "no te": the migrations make text DEFAULT 'x'::text, the model says text`},
		{"column", `"no te" text`, `"no te" text, "more" text`, `column "more": only the migrations make it: text`},
		{"check", `"size" > 0`, `"size" >= 0`, `constraint "size;--": the migrations make CHECK ((size >= 0)), the model says CHECK ((size > 0))`},
		{"index", `("no te");`, `("no te") WHERE "no te" <> '';`, `the migrations make CREATE INDEX "@event:we ird_no te_idx"`},
		{"unique", `UNIQUE ("size")`, `UNIQUE ("size", "id")`, `the migrations make UNIQUE (size, id), the model says UNIQUE (size)`},
		{"view", `SELECT n --`, `SELECT n + 1 AS n --`, `view "we ird"."all": the migrations make`},
		{"comment", `a; comment`, `another`, `table "a""b"."@event:we ird": the migrations make`},
		{"trigger", `-- +goose Down`, "CREATE TRIGGER t BEFORE UPDATE ON " + event + " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();\n-- +goose Down", `trigger "t": only the migrations make it`},
		{"unlogged", `CREATE TABLE "we ird"."job"`, `CREATE UNLOGGED TABLE "we ird"."job"`, `persistence u`},
		{"missing", `CREATE TABLE "we ird"."job"`, `CREATE TABLE "we ird"."jobs"`, ``},
		{"unique index", `-- +goose Down`, "CREATE UNIQUE INDEX more ON " + event + " (kind);\n-- +goose Down", `index "more": only the migrations make it`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Contains(t, initial.Text, tt.replace)
			write(t, dir, initial.Name, strings.Replace(initial.Text, tt.replace, tt.by, 1))
			report, err := migrate.Check(t.Context(), open(t, dir), m, o)
			if tt.want == "" {
				require.ErrorContains(t, err, "replay: apply migrations: "+initial.Name)
			} else {
				require.NoError(t, err)
				require.False(t, report.OK())
				require.Contains(t, strings.Join(report.Drift, "\n"), tt.want)
			}
			require.Zero(t, scratches())
		})
	}
}

func TestCheckNotesHarmlessIndexes(t *testing.T) {
	t.Parallel()
	url, _ := ownServer(t)
	dir := t.TempDir()
	plan(t, dir, 1, model(note), migrate.Options{Name: "initial"})
	write(t, dir, "20260102030402_own.sql", "-- +goose Up\nCREATE INDEX mine ON "+event+" (\"no te\");\nCREATE TABLE own (id int);\n")
	report, err := migrate.Check(t.Context(), open(t, dir), model(note), migrate.CheckOptions{URL: url, Framework: "we ird"})
	require.NoError(t, err)
	require.True(t, report.OK(), "%v", report)
	require.Len(t, report.Notes, 1)
}

func TestCheckFindsAStaleSnapshot(t *testing.T) {
	t.Parallel()
	url, _ := ownServer(t)
	dir := t.TempDir()
	plan(t, dir, 1, model(note), migrate.Options{Name: "initial"})
	o := migrate.CheckOptions{URL: url, Framework: "we ird"}
	report, err := migrate.Check(t.Context(), open(t, dir), model(note, schema.Column{Name: "new", Type: "text"}), o)
	require.NoError(t, err)
	require.Equal(t, []string{`add column "new" to ` + event}, report.Stale)
	require.Len(t, report.Drift, 1)

	report, err = migrate.Check(t.Context(), open(t, dir), model(note, schema.Column{Name: "new", Type: "text", NotNull: true}), o)
	require.NoError(t, err)
	require.Contains(t, report.Stale[0], "--backfill")

	// Without its event the app keeps the table, if it says so.
	bare := model(note)
	bare.Tables = bare.Tables[1:]
	report, err = migrate.Check(t.Context(), open(t, dir), bare, o)
	require.NoError(t, err)
	require.Equal(t, []string{"drop table " + event}, report.Stale)
	o.Keep = func(_, table string) bool { return table == "@event:we ird" }
	report, err = migrate.Check(t.Context(), open(t, dir), bare, o)
	require.NoError(t, err)
	require.True(t, report.OK(), "%v", report)
}

func TestScratchDatabasesOfKilledProcessesAreSwept(t *testing.T) {
	t.Parallel()
	url, scratches := ownServer(t)
	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	for _, name := range []string{"tidings_scratch_1700000000_replay_x", "tidings_scratch_9900000000_replay_y", "tidings_scratch_mine"} {
		_, err := db.Exec("CREATE DATABASE " + name)
		require.NoError(t, err)
	}
	_, err = migrate.Check(t.Context(), open(t, t.TempDir()), schema.Model{}, migrate.CheckOptions{URL: url, Framework: "f"})
	require.NoError(t, err)
	require.Equal(t, 2, scratches())
}
