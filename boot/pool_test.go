package boot_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

func TestAPoolConnectsOnceItsDatabaseIsNamedAndOpensAgain(t *testing.T) {
	t.Parallel()
	p := boot.NewPool(3)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	require.Equal(t, 3, p.Stats().MaxOpenConnections)
	require.ErrorContains(t, p.Ping(), "no database is named yet")
	for range 2 {
		require.NoError(t, p.Connect(pgtest.Database(t)))
		var zone, name string
		require.NoError(t, p.QueryRow(`SELECT current_setting('timezone'), current_setting('application_name')`).Scan(&zone, &name))
		require.Equal(t, "UTC", zone)
		require.Equal(t, "tidings", name)
		require.Equal(t, 3, p.Stats().MaxOpenConnections)
		require.NoError(t, p.Close())
		require.NoError(t, p.Close())
		require.Error(t, p.Ping())
	}
}

// A process that stops behind its database says nothing of the connections that
// went with it.
func TestAPoolWhoseConnectionsWereLostCloses(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	p := boot.NewPool(1)
	require.NoError(t, p.Connect(url))
	var pid int
	require.NoError(t, p.QueryRow(`SELECT pg_backend_pid()`).Scan(&pid))
	side := boot.NewPool(1)
	require.NoError(t, side.Connect(url))
	defer side.Close()
	var ended bool
	require.NoError(t, side.Get(&ended, `SELECT pg_terminate_backend($1, 60000)`, pid))
	require.True(t, ended)
	require.NoError(t, p.Close())
}

func TestAURLKeepsWhatItSaysAndGetsTheRest(t *testing.T) {
	t.Parallel()
	settings := func(dsn string) url.Values {
		dsn, err := boot.WithSettings(dsn)
		require.NoError(t, err)
		u, err := url.Parse(dsn)
		require.NoError(t, err)
		return u.Query()
	}
	require.Equal(t, url.Values{"timezone": {"UTC"}, "sslmode": {"prefer"}, "application_name": {"tidings"}}, settings("postgres://me@h/d"))
	require.Equal(t, url.Values{"timezone": {"Asia/Tokyo"}, "sslmode": {"disable"}, "application_name": {"mine"}},
		settings("postgresql://me@h/d?timezone=Asia/Tokyo&sslmode=disable&application_name=mine"))
	for _, bad := range []string{"", "host=h password=sesame", "mysql://me:sesame@h/d", "postgres://me:sesame@h:x/d", "postgres://me:%zzsesame@h"} {
		_, err := boot.WithSettings(bad)
		require.ErrorContains(t, err, "want postgres://")
		require.NotContains(t, err.Error(), "sesame")
	}
}

func TestTheDevelopmentSchemaIsMadeOnceAndAsAWhole(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	m := schema.Model{Tables: []schema.Table{{
		Schema: "framework", Name: "thing", PrimaryKey: []string{"id"}, Columns: []schema.Column{{Name: "id", Type: "bigint", NotNull: true}},
	}}}
	count := func() (n int) {
		require.NoError(t, db.QueryRow(`SELECT count(*) FROM pg_class WHERE relname IN ('thing', 'own')`).Scan(&n))
		return n
	}
	err := boot.CreateSchema(t.Context(), db, "framework", m, []string{`CREATE TABLE own (n int)`, `nonsense`})
	require.ErrorContains(t, err, "nonsense")
	require.Zero(t, count(), "a failure leaves nothing")
	for range 2 {
		require.NoError(t, boot.CreateSchema(t.Context(), db, "framework", m, []string{`CREATE TABLE own (n int)`}))
		require.Equal(t, 2, count())
	}
}
