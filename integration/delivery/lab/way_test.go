//go:build unix

package lab

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWayIsNamedInFullOrRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]way{
		"":              {},
		"pgx":           {driver: "pgx"},
		"pgbouncer":     {bouncer: true},
		"pgx,pgbouncer": {driver: "pgx", bouncer: true},
		"pgbouncer,pgx": {driver: "pgx", bouncer: true},
	} {
		w, err := parseWay(text)
		require.NoError(t, err, text)
		require.Equal(t, want, w, text)
	}
	for _, text := range []string{"pq", "PGX", "pgx,", ",", " pgx", "pgx pgbouncer", "pgx,pgx", "pgbouncer,pgbouncer", "pgx,pgbouncer,x"} {
		_, err := parseWay(text)
		require.ErrorContains(t, err, wayEnv+"="+text)
	}
}

func TestAPlanKeepsWhatItSaysOfItsWay(t *testing.T) {
	t.Parallel()
	both := way{driver: "pgx", bouncer: true}
	require.Equal(t, Plan{Driver: "postgres"}, way{}.on(Plan{}))
	require.Equal(t, Plan{Driver: "pgx", PgBouncer: true}, both.on(Plan{}))
	require.Equal(t, Plan{Driver: "postgres", PgBouncer: true}, both.on(Plan{Driver: "postgres"}))
	require.Equal(t, Plan{Driver: "pgx", PgBouncer: true}, way{}.on(Plan{Driver: "pgx", PgBouncer: true}))
}
