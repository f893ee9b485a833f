package persistence

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
)

// failing yields one row or more and then fails: an error that shows while the
// rows are read, not when the query is sent.
const failing = `SELECT 1 / (3 - n)::int FROM generate_series(1, 5) AS n`

// failingAtOnce fails at its first row, which lib/pq also tells only to a reader.
const failingAtOnce = `SELECT 1 / (1 - n)::int FROM generate_series(1, 5) AS n`

func TestASwallowedErrorOfAnyVerbIsTheCauseOfAnAbortedTransaction(t *testing.T) {
	t.Parallel()
	type use func(context.Context, *Transaction)
	query := func(query string, args ...any) use {
		return func(ctx context.Context, tx *Transaction) {
			rows, err := tx.QueryxContext(ctx, query, args...)
			if err != nil {
				return
			}
			for rows.Next() {
			}
			_ = rows.Close()
		}
	}
	row := func(query string, args ...any) use {
		return func(ctx context.Context, tx *Transaction) {
			_ = tx.QueryRowxContext(ctx, query, args...).Scan(new(int))
		}
	}
	for name, use := range map[string]use{
		"Exec":    func(ctx context.Context, tx *Transaction) { _, _ = tx.ExecContext(ctx, failing) },
		"ExecOne": func(ctx context.Context, tx *Transaction) { _ = tx.ExecOne(ctx, failing+` WHERE $1`, true) },
		"Get":     func(ctx context.Context, tx *Transaction) { _ = tx.GetContext(ctx, new(int), failingAtOnce) },
		"Select":  func(ctx context.Context, tx *Transaction) { _ = tx.SelectContext(ctx, &[]int{}, failing) },
		"NamedExec": func(ctx context.Context, tx *Transaction) {
			_, _ = tx.NamedExecContext(ctx, `SELECT 1 / :n`, map[string]any{"n": 0})
		},
		"Queryx while iterating":               query(failing),
		"Queryx while iterating, with a param": query(failing+` WHERE $1`, true),
		"Queryx at once":                       query(failingAtOnce),
		"QueryRowx":                            row(failingAtOnce),
		"QueryRowx with a parameter":           row(failingAtOnce+` WHERE $1`, true),
		"Statement.Query": func(ctx context.Context, tx *Transaction) {
			rows, err := tx.db.Statement(failing).Query(ctx, tx)
			if err != nil {
				return
			}
			for rows.Next() {
			}
			_ = rows.Close()
		},
		"Statement.QueryOne": func(ctx context.Context, tx *Transaction) {
			_ = tx.db.Statement(failingAtOnce).QueryOne(ctx, tx, nil, new(int))
		},
		"Statement.Exec": func(ctx context.Context, tx *Transaction) { _, _ = tx.db.Statement(failing).Exec(ctx, tx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for _, more := range []bool{false, true} {
				err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
					tx.AfterCommit(func() { t.Error("an after-commit hook ran") })
					require.NoError(t, insert(1)(ctx, tx))
					use(ctx, tx)
					if more { // 25P02, which is not the first error
						_, err := tx.ExecContext(ctx, `SELECT 1`)
						require.Equal(t, "25P02", SQLState(err))
					}
					return nil
				})
				require.ErrorIs(t, err, ErrAborted)
				require.NotErrorIs(t, err, ErrUnknownOutcome)
				require.Equal(t, "22012", SQLState(err), "%v", err)
				require.Zero(t, b.items())
				b.idle()
			}
		})
	}
}

func TestASwallowedUniqueViolationIsTheCauseOfAnAbortedTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		require.NoError(t, insert(1)(ctx, tx))
		require.Equal(t, "23505", SQLState(insert(1)(ctx, tx)))
		return nil
	})
	require.ErrorIs(t, err, ErrAborted)
	require.Equal(t, "23505", SQLState(err))
	require.Zero(t, b.items())
	b.idle()
}

func TestErrorsOfTheClientLeaveTheTransactionWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		var n int
		require.ErrorIs(t, tx.GetContext(ctx, &n, `SELECT 1 WHERE false`), sql.ErrNoRows)
		require.ErrorIs(t, tx.QueryRowxContext(ctx, `SELECT 1 WHERE false`).Scan(&n), sql.ErrNoRows)
		require.Error(t, tx.GetContext(ctx, &n, `SELECT 'x'`), "scanning text into a number")
		require.Error(t, tx.SelectContext(ctx, &[]struct{ A int }{}, `SELECT 1 AS b`), "no field for the column")
		require.Error(t, tx.SelectContext(ctx, n, `SELECT 1`), "no pointer")
		_, err := tx.NamedExecContext(ctx, `SELECT :missing`, map[string]any{})
		require.Error(t, err)
		_, err = tx.ExecContext(ctx, `ROLLBACK`)
		require.ErrorIs(t, err, ErrTransactionControl)
		row := tx.QueryRowxContext(ctx, `SELECT 1`)
		require.NoError(t, row.Scan(&n))
		return insert(1)(ctx, tx)
	}))
	require.Equal(t, 1, b.items())
}

func TestErrorsWhileIteratingAreFoundBehindLaterRows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		_ = tx.QueryRowxContext(ctx, failingAtOnce).Scan(new(int))
		_ = tx.QueryRowxContext(ctx, `SELECT 1`).Scan(new(int))
		if rows, err := tx.QueryxContext(ctx, `SELECT 2`); err == nil {
			_ = rows.Close()
		}
		return nil
	})
	require.ErrorIs(t, err, ErrAborted)
	require.Equal(t, "22012", SQLState(err))
}
