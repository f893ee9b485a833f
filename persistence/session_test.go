package persistence

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// sessionOf returns a reserved connection and what runs a statement on it as a
// session, which names its backend.
func sessionOf(t *testing.T, b bench) (*Reserved, func(text string, scan func(*sql.Rows) error) error) {
	t.Helper()
	r := b.Reserve()
	t.Cleanup(r.Close)
	settings := Settings{b.Statement(`SELECT set_config('application_name', $1, false)`), []any{"a session"}}
	return r, func(text string, scan func(*sql.Rows) error) error {
		return r.Session(t.Context(), settings, func(ctx context.Context, s *Session) error {
			return s.QueryAlone(ctx, b.Statement(text), nil, scan)
		})
	}
}

func ignore(*sql.Rows) error { return nil }

const whoSQL = `SELECT pg_backend_pid(), current_setting('application_name')`

func TestAStatementOfASessionIsATransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, alone := sessionOf(t, b)
	require.NoError(t, alone(`INSERT INTO item VALUES (1)`, ignore))
	require.Equal(t, 1, b.items())

	err := alone(`INSERT INTO item VALUES (2), (1)`, ignore)
	require.Equal(t, "23505", SQLState(err))
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	require.Equal(t, 1, b.items())

	require.NoError(t, r.Required(t.Context(), TxOptions{}, insert(3)), "transactions take their turn")
	require.Equal(t, 2, b.items())
}

func TestASessionHasItsSettingsAndKeepsThemFromOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Pool().SetMaxOpenConns(1)
	r, alone := sessionOf(t, b)
	var first, next int
	var name string
	who := func(pid *int) func(*sql.Rows) error {
		return func(rows *sql.Rows) error { return rows.Scan(pid, &name) }
	}
	require.NoError(t, alone(whoSQL, who(&first)))
	require.Equal(t, "a session", name)
	require.NoError(t, alone(whoSQL, who(&next)))
	require.Equal(t, first, next)
	others := func() string {
		require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
			return tx.GetContext(ctx, &name, `SELECT current_setting('application_name')`)
		}))
		return name
	}
	r.Close()
	require.NotEqual(t, "a session", others())

	require.NoError(t, alone(whoSQL, who(&first)))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, r.transact(over, TxOptions{}, insert(1)), "it gives up BEGIN, or what comes after it")
	r.Close()
	require.NotEqual(t, "a session", others())
}

func TestALostStatementOfASessionIsUnknownAndTheSessionReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, alone := sessionOf(t, b)
	var pid, next int
	var name string
	require.NoError(t, alone(whoSQL, func(rows *sql.Rows) error { return rows.Scan(&pid, &name) }))
	require.ErrorIs(t, alone(`INSERT INTO item SELECT 1 FROM pg_terminate_backend(pg_backend_pid())`, ignore), ErrUnknownOutcome)
	require.Zero(t, b.items())

	require.NoError(t, alone(whoSQL, func(rows *sql.Rows) error { return rows.Scan(&next, &name) }))
	require.NotEqual(t, pid, next)
	require.Equal(t, "a session", name)

	failed := errors.New("scan")
	err := alone(`INSERT INTO item VALUES (1) RETURNING id`, func(*sql.Rows) error { return failed })
	require.ErrorIs(t, err, failed)
	require.ErrorIs(t, err, ErrUnknownOutcome)
}

// A prepared statement that is out of date fails once.
func TestASessionSurvivesAChangedTable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, alone := sessionOf(t, b)
	const text = `SELECT * FROM item`
	require.NoError(t, alone(text, ignore))
	_, err := b.side.ExecContext(t.Context(), `ALTER TABLE item ADD COLUMN more integer`)
	require.NoError(t, err)
	require.Equal(t, "0A000", SQLState(alone(text, ignore)))
	require.NoError(t, alone(text, ignore))
}
