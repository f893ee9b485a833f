package persistence

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// backend reads the server process of a transaction's connection.
func backend(t *testing.T, to *int) func(context.Context, *Transaction) error {
	return func(ctx context.Context, tx *Transaction) error {
		require.NoError(t, tx.GetContext(ctx, to, `SELECT pg_backend_pid()`))
		return nil
	}
}

func TestAReservedConnectionDoesNotWaitForThePool(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Pool().SetMaxOpenConns(2)
	r := b.Reserve()
	var first, again int
	require.NoError(t, r.Required(t.Context(), TxOptions{}, backend(t, &first)))
	rest, err := b.Begin(t.Context(), TxOptions{}) // the pool is exhausted
	require.NoError(t, err)
	require.Error(t, r.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		require.NoError(t, insert(1)(ctx, tx))
		return errors.New("rolled back")
	}))
	require.NoError(t, r.Required(t.Context(), TxOptions{}, insert(2)))
	require.NoError(t, r.Required(t.Context(), TxOptions{}, backend(t, &again)))
	require.Equal(t, first, again)
	require.Equal(t, 1, b.items())
	rest.Rollback()
	r.Close()
	b.idle()
}

func TestALostReservedConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.Reserve()
	t.Cleanup(r.Close)
	var first, next int
	require.NoError(t, r.Required(t.Context(), TxOptions{}, backend(t, &first)))
	_, err := b.side.ExecContext(t.Context(), `SELECT pg_terminate_backend($1, 10000)`, first)
	require.NoError(t, err)
	require.NoError(t, r.Required(t.Context(), TxOptions{}, backend(t, &next)))
	require.NotEqual(t, first, next)

	// In the middle of a transaction, which fails.
	require.Error(t, r.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		_, err := b.side.ExecContext(ctx, `SELECT pg_terminate_backend($1, 10000)`, next)
		require.NoError(t, err)
		return insert(1)(ctx, tx)
	}))
	require.NoError(t, r.Required(t.Context(), TxOptions{}, insert(2)))
	require.Equal(t, 1, b.items())
}

func TestAReservedConnectionRunsOneTransactionAtATime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.Reserve()
	t.Cleanup(r.Close)
	require.NoError(t, r.Required(t.Context(), TxOptions{}, func(ctx context.Context, _ *Transaction) error {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(t, r.Required(ctx, TxOptions{}, insert(1)), context.Canceled)
		return nil
	}))
	require.Zero(t, b.items())
}
