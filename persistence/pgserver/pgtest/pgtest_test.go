package pgtest_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Runner{M: m}) }

const ddl = `CREATE TABLE thing (id bigint PRIMARY KEY); INSERT INTO thing VALUES (1)`

func count(t *testing.T, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

func TestTestsWithTheSameDDLGetDatabasesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			db := pgtest.Open(t, ddl)
			require.Equal(t, 1, count(t, db, `SELECT count(*) FROM thing`))
			_, err := db.ExecContext(t.Context(), `INSERT INTO thing VALUES (2)`)
			require.NoError(t, err)
			require.Equal(t, 2, count(t, db, `SELECT count(*) FROM thing`))
		})
	}
}

func TestATemplateIsBuiltOncePerDDL(t *testing.T) {
	t.Parallel()
	first := pgtest.Open(t, `CREATE TABLE once AS SELECT clock_timestamp() AS at`)
	second := pgtest.Open(t, `CREATE TABLE once AS SELECT clock_timestamp() AS at`)
	other := pgtest.Open(t, `CREATE TABLE once AS SELECT clock_timestamp() AS at`, `CREATE TABLE more ()`)
	var at [3]string
	for i, db := range []*sql.DB{first, second, other} {
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT at FROM once`).Scan(&at[i]))
	}
	require.Equal(t, at[0], at[1])
	require.NotEqual(t, at[0], at[2])
}

func TestADatabaseIsDroppedAtTheEndOfItsTestEvenWithSessionsOpen(t *testing.T) {
	t.Parallel()
	var name string
	var left *sql.Conn
	t.Run("inner", func(t *testing.T) {
		db, err := sql.Open("postgres", pgtest.Database(t))
		require.NoError(t, err)
		left, err = db.Conn(t.Context())
		require.NoError(t, err)
		require.NoError(t, left.QueryRowContext(t.Context(), `SELECT current_database()`).Scan(&name))
		require.Contains(t, name, "inner")
		t.Cleanup(func() { require.NoError(t, db.Close()) }) // waits for no connection in use
	})
	db := pgtest.Open(t)
	require.Zero(t, count(t, db, `SELECT count(*) FROM pg_database WHERE datname = $1`, name))
	require.Error(t, left.PingContext(t.Context()))
	_ = left.Close()
}

func TestTheServerTakesManyConnections(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	require.GreaterOrEqual(t, count(t, db, `SELECT current_setting('max_connections')::int`), 200)
	require.Same(t, pgtest.Server(t), pgtest.Server(t))
}
