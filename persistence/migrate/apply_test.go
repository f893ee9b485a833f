package migrate_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/migrate"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

const event = `"a""b"."@event:we ird"`

func apply(t *testing.T, db *sql.DB, dir string) []migrate.Applied {
	t.Helper()
	applied, err := migrate.Apply(t.Context(), db, open(t, dir), "we ird", nil)
	require.NoError(t, err)
	return applied
}

func matches(t *testing.T, db *sql.DB, m schema.Model) {
	t.Helper()
	differences, err := schema.Differences(t.Context(), db, m)
	require.NoError(t, err)
	require.Empty(t, differences)
}

func one(t *testing.T, db *sql.DB, query string) (text string) {
	t.Helper()
	require.NoError(t, db.QueryRow(query).Scan(&text), query)
	return text
}

// rich is a model whose way from model(note) has steps of every phase.
func rich() schema.Model {
	m := model(note, schema.Column{Name: "size", Type: "integer", NotNull: true}, schema.Column{Name: "kind", Type: "text", NotNull: true})
	t := &m.Tables[0]
	t.Checks = []schema.Check{{Name: "size;--", Expression: `"size" > 0`}}
	t.Uniques = []schema.Unique{{Columns: []string{"size"}}}
	t.Indexes = []schema.Index{{Columns: schema.On("no te")}}
	t.Comment = "a; comment\n-- with lines"
	m.Tables[1].Columns[0].Type = "bigint"
	m.Views = []schema.View{{Schema: "we ird", Name: "all", Query: "SELECT n -- every one;\nFROM \"we ird\".job"}}
	return m
}

func fills(t *testing.T, m schema.Model, specs ...string) (all []schema.Backfill) {
	for _, spec := range specs {
		b, err := schema.ParseBackfill(m, spec)
		require.NoError(t, err)
		all = append(all, b)
	}
	return all
}

// Files as goose reads them, with rows there: up, down, and up again.
func TestCandidatesRunUpAndDown(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), pgtest.Open(t)
	plan(t, dir, 1, model(note), migrate.Options{Name: "initial"})
	require.Len(t, apply(t, db, dir), 1)
	_, err := db.Exec(`INSERT INTO ` + event + ` SELECT n, 'x' || n FROM generate_series(1, 5000) n; INSERT INTO "we ird".job VALUES (7)`)
	require.NoError(t, err)

	m := rich()
	plan(t, dir, 2, m, migrate.Options{Name: "rich", Plan: schema.PlanOptions{Backfills: fills(t, m, "size=id::integer", `kind=E'it''s; \\'`)}})
	require.Len(t, apply(t, db, dir), 2, "one file in a transaction, one outside")
	require.Empty(t, apply(t, db, dir))
	matches(t, db, m)
	require.Equal(t, `12502500 it's; \ 7`, one(t, db, `SELECT sum(size) || ' ' || min(kind) || ' ' || (SELECT n FROM "we ird"."all") FROM `+event))

	provider, err := migrate.NewProvider(db, os.DirFS(dir), "we ird", nil)
	require.NoError(t, err)
	_, err = provider.Down(t.Context()) // the second file alone: its steps may run again
	require.NoError(t, err)
	require.Len(t, apply(t, db, dir), 1)
	matches(t, db, m)
	_, err = provider.Down(t.Context())
	require.NoError(t, err)
	// The way back would narrow job.n: the file refuses instead of guessing.
	_, err = provider.Down(t.Context())
	require.ErrorContains(t, err, "cannot be undone: the way back could cut or round what was stored since")
}

func TestTheWayBackIsTheWayThere(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), pgtest.Open(t)
	from, to := model(note), rich()
	to.Tables[1].Columns[0].Type = "integer"
	plan(t, dir, 1, from, migrate.Options{Name: "initial"})
	plan(t, dir, 2, to, migrate.Options{Name: "there", Plan: schema.PlanOptions{Backfills: fills(t, to, "size=1", `kind='k'`)}})
	apply(t, db, dir)
	matches(t, db, to)
	provider, err := migrate.NewProvider(db, os.DirFS(dir), "we ird", nil)
	require.NoError(t, err)
	for range 2 {
		_, err = provider.Down(t.Context())
		require.NoError(t, err)
	}
	matches(t, db, from)
	fresh := pgtest.Open(t, from.DDL()...)
	require.Empty(t, schema.Compare(contents(t, db, schema.Merge(to)), contents(t, fresh, schema.Merge(to))))
	apply(t, db, dir)
	matches(t, db, to)
}

func contents(t *testing.T, db *sql.DB, m schema.Model) map[schema.Object]string {
	tx, err := db.Begin()
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	c, err := schema.Contents(t.Context(), tx, m)
	require.NoError(t, err)
	return c
}

// What lost data says so on the way back, instead of making empty columns.
func TestThereIsNoWayBackFromALoss(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), pgtest.Open(t)
	plan(t, dir, 1, model(note), migrate.Options{Name: "initial"})
	plan(t, dir, 2, model(), migrate.Options{Name: "lose", Force: true})
	apply(t, db, dir)
	provider, err := migrate.NewProvider(db, os.DirFS(dir), "we ird", nil)
	require.NoError(t, err)
	_, err = provider.Down(t.Context())
	require.ErrorContains(t, err, "cannot be undone: it lost data")
	matches(t, db, model())
}

// Eight processes start at once on an empty database, with two apps in it.
func TestEightMigratorsAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), pgtest.Database(t)
	plan(t, dir, 1, model(note), migrate.Options{Name: "initial"})
	m := rich()
	plan(t, dir, 2, m, migrate.Options{Name: "rich", Plan: schema.PlanOptions{Backfills: fills(t, m, "size=1", "kind='k'")}})
	var mu sync.Mutex
	var files []string
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			db, err := sql.Open("postgres", url)
			if err == nil {
				defer db.Close()
				var applied []migrate.Applied
				var lines int
				applied, err = migrate.Apply(context.Background(), db, open(t, dir), "we ird", func(string) { lines++ })
				mu.Lock()
				defer mu.Unlock()
				for _, a := range applied {
					files = append(files, a.File)
				}
				if len(applied) > lines {
					err = fmt.Errorf("%d migrations, %d lines of progress", len(applied), lines)
				}
			}
			errs[i] = err
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, files, 3, "each file ran once: %v", files)
	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	matches(t, db, m)
	require.Equal(t, "4", one(t, db, `SELECT count(*) FROM "we ird".schema_migration`))
}

func TestTwoAppsInOneDatabaseHaveVersionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	for _, framework := range []string{"one", `t"wo`} {
		dir := t.TempDir()
		m := schema.Model{Tables: []schema.Table{{Schema: framework, Name: "t"}}}
		plan(t, dir, 1, m, migrate.Options{Name: "initial"})
		applied, err := migrate.Apply(t.Context(), db, open(t, dir), framework, nil)
		require.NoError(t, err)
		require.Len(t, applied, 1)
		matches(t, db, m)
	}
}

func TestAFailedMigrationIsNamedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), pgtest.Open(t)
	plan(t, dir, 1, model(), migrate.Options{Name: "initial"})
	write(t, dir, "20260102030402_own.sql", "-- +goose Up\nCREATE TABLE own ();\nSELECT 1/0;\n")
	applied, err := migrate.Apply(t.Context(), db, open(t, dir), "we ird", nil)
	require.ErrorContains(t, err, "20260102030402_own.sql")
	require.ErrorContains(t, err, "division by zero")
	require.Len(t, applied, 1)
	require.Equal(t, "true", one(t, db, `SELECT to_regclass('own') IS NULL`))
	require.Equal(t, "1", one(t, db, `SELECT count(*) FROM "we ird".schema_migration WHERE version_id > 0`))
}

// A migration that does not get its lock gives up, instead of having everybody
// wait behind it.
func TestAMigrationDoesNotQueueUpEverybody(t *testing.T) {
	t.Parallel()
	dir, db := t.TempDir(), pgtest.Open(t)
	plan(t, dir, 1, model(), migrate.Options{Name: "initial"})
	apply(t, db, dir)
	reader, err := db.Begin()
	require.NoError(t, err)
	_, err = reader.Exec(`LOCK TABLE ` + event + ` IN ACCESS SHARE MODE`)
	require.NoError(t, err)
	c := plan(t, dir, 2, model(note), migrate.Options{Name: "blocked"})
	up, _, _ := strings.Cut(c.Files[0].Text, "-- +goose Down")
	require.Contains(t, up, "'5s'") // else this waits for ever
	write(t, dir, c.Files[0].Name, strings.Replace(c.Files[0].Text, "'5s'", "'100ms'", 1))
	_, err = migrate.Apply(t.Context(), db, open(t, dir), "we ird", nil)
	require.ErrorContains(t, err, "lock timeout")
	require.NoError(t, reader.Rollback())
	require.Len(t, apply(t, db, dir), 1)
	matches(t, db, model(note))
}

func TestAnEmptyFolderAppliesNothing(t *testing.T) {
	t.Parallel()
	require.Empty(t, apply(t, pgtest.Open(t), t.TempDir()))
}
