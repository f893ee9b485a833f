//go:build unix

package pgserver

import (
	"cmp"
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		childMain()
	}
	if dir := MemoryDir(); dir != "" {
		if err := os.Setenv(tempEnv, dir); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

const patience = time.Minute

// eventually polls a condition.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, patience, 50*time.Millisecond, what)
}

// start starts a server that ends with the test.
func start(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	return s
}

// open opens a pool that ends with the test.
func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() }) // its server may be gone
	return db
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

func text(t *testing.T, db *sql.DB, query string) (value string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&value))
	return value
}

// openTemp is a folder that every user may enter, unlike t.TempDir.
func openTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(cmp.Or(os.Getenv(tempEnv), "/tmp"), "pgs-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}
