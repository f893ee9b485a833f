package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/sampleapp/adapters"
)

// migration runs a schema command of the program on a database.
func migration(t *testing.T, url string, args ...string) (code int, text string) {
	t.Helper()
	var out bytes.Buffer
	c := program(t, append([]string{"schema"}, args...)...)
	c.Env = append(c.Env, "DATABASE_URL="+url)
	c.Stdout, c.Stderr = &out, &out
	_ = c.Run() // the exit code tells
	return c.ProcessState.ExitCode(), out.String()
}

func TestTheMigrationsMakeWhatTheAppDeclares(t *testing.T) {
	t.Parallel()
	code, text := migration(t, pgtest.Database(t), "check")
	require.Zero(t, code, text)
	require.Contains(t, text, "The 4 migrations in migrations make what the app declares.")
	code, text = migration(t, "", "plan", "--name", "nothing", "--dry-run")
	require.Zero(t, code, text)
	require.Contains(t, text, "Nothing to plan")
}

func TestTheOwnTablesAreThoseOfDevelopment(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("migrations/20261130233000_own_tables.sql")
	require.NoError(t, err)
	up, _, _ := strings.Cut(string(text), "-- +goose Down")
	_, up, _ = strings.Cut(up, "-- +goose Up\n")
	require.Equal(t, strings.Join(adapters.Schema, ";\n\n")+";", strings.TrimSpace(up))
}

// A database of the first version, with an event in it, becomes one of today's.
func TestAddNoteKeepsTheEventsOfBefore(t *testing.T) {
	t.Parallel()
	url, first := pgtest.Database(t), t.TempDir()
	files, err := filepath.Glob("migrations/*")
	require.NoError(t, err)
	for _, file := range files {
		if strings.Contains(file, "add_note") || strings.Contains(file, "index_waiting_jobs") { // what came after it
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(first, filepath.Base(file)), text, 0o600))
	}
	code, text := migration(t, url, "apply", "--dir", first)
	require.Equal(t, 1, code, "the app of today needs more")
	require.Contains(t, text, `column "Note" is missing`)

	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.Exec(`INSERT INTO "example.delivery"."@event:StopMoved" (id, "@occurredAt", "@correlation", "Stop", "Tour", "Customer.Name",
		"Customer.Email", "From.Street", "From.Zip", "From.City", "To.Street", "To.Zip", "To.City", "FeeCents")
	VALUES (gen_random_uuid(), now(), 'c', gen_random_uuid(), gen_random_uuid(), 'Ada', 'ada@example.com', 'a', 'b', 'c', 'd', 'e', 'f', 600)`)
	require.NoError(t, err)

	code, text = migration(t, url, "apply")
	require.Zero(t, code, text)
	require.Contains(t, text, "2 migrations applied.")
	code, text = migration(t, url, "verify-history", "--all")
	require.Zero(t, code, text)
	require.Contains(t, text, "1 events rebuilt under the current code.")
	var note string
	require.NoError(t, db.QueryRow(`SELECT "Note" FROM "example.delivery"."@event:StopMoved"`).Scan(&note))
	require.Empty(t, note)
}
