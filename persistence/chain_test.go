package persistence

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func always() bool { return true }

// chained runs f in the next transaction of c and commits it.
func chained(t *testing.T, c *Chain, f func(context.Context, *Transaction) error) error {
	t.Helper()
	tx, err := c.Begin(t.Context(), TxOptions{})
	require.NoError(t, err)
	defer tx.Rollback()
	if err := f(t.Context(), tx); err != nil {
		return err
	}
	return tx.Commit(t.Context())
}

// place is where a transaction runs: its connection, and its virtual id.
type place struct {
	Pid int    `db:"pid"`
	ID  string `db:"id"`
}

func where(t *testing.T, tx *Transaction) (p place) {
	t.Helper()
	require.NoError(t, tx.GetContext(t.Context(), &p, `SELECT pid, virtualtransaction AS id FROM pg_locks
		WHERE pid = pg_backend_pid() AND locktype = 'virtualxid' AND $1::boolean`, true))
	return p
}

func TestTransactionsOfAChainFollowOneAnotherOnOneConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	left := 3
	c := b.Chain(func() bool { left--; return left > 0 })
	places := map[place]bool{}
	pids := map[int]bool{}
	for n := range 3 {
		require.NoError(t, chained(t, c, func(ctx context.Context, tx *Transaction) error {
			p := where(t, tx)
			places[p], pids[p.Pid] = true, true
			return insert(n)(ctx, tx)
		}))
		require.Equal(t, n+1, b.items(), "each is committed when Commit returns")
	}
	require.Len(t, places, 3, "a transaction each")
	require.Len(t, pids, 1)
	b.idle() // the last one opened no next
}

func TestAChainHoldsAConnectionOnlyUntilItIsClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.Chain(always)
	require.NoError(t, chained(t, c, insert(1)))
	require.Equal(t, 1, b.Pool().Stats().InUse)
	c.Close()
	b.idle()
	c.Close()
	require.NoError(t, chained(t, c, insert(2)))
	c.Close()
	require.Equal(t, 2, b.items())
}

func TestNothingPassesFromOneTransactionOfAChainToTheNext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.Chain(always)
	defer c.Close()
	require.NoError(t, chained(t, c, func(ctx context.Context, tx *Transaction) error {
		_, err := tx.ExecContext(ctx, `SET LOCAL statement_timeout = '77s'`)
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(4712)`)
		return err
	}))
	require.NoError(t, chained(t, c, func(ctx context.Context, tx *Transaction) error {
		var timeout string
		var locks int
		require.NoError(t, tx.GetContext(ctx, &timeout, `SHOW statement_timeout`))
		require.Equal(t, "0", timeout)
		require.NoError(t, tx.GetContext(ctx, &locks, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`))
		require.Zero(t, locks)
		return nil
	}))
}

// A transaction of another kind is none that the last commit can have opened.
func TestAChainOpensTransactionsOfAnotherKindAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.Chain(always)
	defer c.Close()
	require.NoError(t, chained(t, c, insert(1)))
	tx, err := c.Begin(t.Context(), TxOptions{Isolation: sql.LevelSerializable})
	require.NoError(t, err)
	var level string
	require.NoError(t, tx.GetContext(t.Context(), &level, `SHOW transaction_isolation`))
	require.Equal(t, "serializable", level)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, chained(t, c, func(ctx context.Context, tx *Transaction) error {
		require.NoError(t, tx.GetContext(ctx, &level, `SHOW transaction_isolation`))
		require.Equal(t, "read committed", level)
		return nil
	}))
}

func TestAFailedTransactionOfAChainIsNotCommittedAndTheNextIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail func(context.Context, *Transaction) error
		want error
	}{
		"error": {func(context.Context, *Transaction) error { return sql.ErrTxDone }, sql.ErrTxDone},
		"swallowed error": {func(ctx context.Context, tx *Transaction) error {
			_, _ = tx.ExecContext(ctx, `SELECT 1/0`)
			return nil
		}, ErrAborted},
		"error that nobody noted": {func(_ context.Context, tx *Transaction) error {
			_, err := tx.tx.Exec(`SELECT 1/0`)
			require.Error(t, err)
			return nil
		}, ErrAborted},
		"rollback-only": {func(_ context.Context, tx *Transaction) error {
			tx.SetRollbackOnly(sql.ErrTxDone)
			return nil
		}, ErrRollbackOnly},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			chain := b.Chain(always)
			defer chain.Close()
			require.NoError(t, chained(t, chain, insert(1)))
			require.ErrorIs(t, chained(t, chain, func(ctx context.Context, tx *Transaction) error {
				require.NoError(t, insert(2)(ctx, tx))
				return c.fail(ctx, tx)
			}), c.want)
			require.NoError(t, chained(t, chain, insert(3)))
			require.Equal(t, 2, b.items())
		})
	}
}

// What COMMIT would refuse is a known failure.
func TestAViolationAtTheEndOfAChainedTransactionIsAKnownFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.side.ExecContext(t.Context(), `CREATE TABLE once (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
	require.NoError(t, err)
	c := b.Chain(always)
	defer c.Close()
	twice := func(ctx context.Context, tx *Transaction) error {
		require.NoError(t, insert(1)(ctx, tx))
		for range 2 {
			if _, err := tx.ExecContext(ctx, `INSERT INTO once VALUES (1)`); err != nil {
				return err
			}
		}
		return nil
	}
	err = chained(t, c, twice)
	require.Equal(t, "23505", SQLState(err), err)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	require.NoError(t, chained(t, c, insert(2)))
	require.Equal(t, 1, b.items())
}

// A statement that a goroutine of the app's sends behind the commit must not get
// into the next transaction.
func TestALateStatementDoesNotReachTheNextTransactionOfAChain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.Chain(always)
	defer c.Close()
	for n := range 100 {
		var first *Transaction
		late := make(chan error, 1)
		require.NoError(t, chained(t, c, func(ctx context.Context, tx *Transaction) error {
			first = tx
			require.NoError(t, insert(n)(ctx, tx))
			go func() {
				for {
					if _, err := tx.ExecContext(ctx, `SELECT $1::int`, 1); err != nil {
						late <- err
						return
					}
				}
			}()
			return nil
		}))
		_, err := first.ExecContext(t.Context(), `INSERT INTO item (id) VALUES (-1)`)
		require.ErrorIs(t, err, ErrEnded)
		require.ErrorIs(t, <-late, ErrEnded)
	}
	c.Close()
	require.Equal(t, 100, b.items())
}

// Rows that were left open are closed before the next transaction uses their
// connection.
func TestRowsLeftOpenEndWithTheirTransactionOfAChain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.Chain(always)
	defer c.Close()
	for name, open := range map[string]func(context.Context, *Transaction){
		"rows": func(ctx context.Context, tx *Transaction) {
			rows, err := tx.QueryxContext(ctx, `SELECT generate_series(1, 1000)`)
			require.NoError(t, err)
			require.True(t, rows.Next())
		},
		"row": func(ctx context.Context, tx *Transaction) {
			require.NoError(t, tx.QueryRowxContext(ctx, `SELECT generate_series(1, 1000)`).Err())
		},
		"rows with an error": func(ctx context.Context, tx *Transaction) {
			rows, err := tx.QueryxContext(ctx, `SELECT 1/(3-n) FROM generate_series(1, 3) n`)
			if err == nil {
				require.True(t, rows.Next())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := chained(t, c, func(ctx context.Context, tx *Transaction) error {
				open(ctx, tx)
				return nil
			})
			if name == "rows with an error" {
				require.ErrorIs(t, err, ErrAborted)
			} else {
				require.NoError(t, err)
			}
			require.NoError(t, chained(t, c, insert(len(name))))
		})
	}
	require.Equal(t, 3, b.items())
}

// Work after the commit may want a connection, which the chain must not hold.
func TestATransactionWithWorkAfterItsCommitOpensNoNext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Pool().SetMaxOpenConns(1)
	c := b.Chain(always)
	defer c.Close()
	ran := false
	require.NoError(t, chained(t, c, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(func() {
			ran = true
			require.NoError(t, b.Required(t.Context(), TxOptions{}, insert(2)))
		})
		return insert(1)(ctx, tx)
	}))
	require.True(t, ran)
	require.Equal(t, 2, b.items())
}

func TestTheOutcomeOfAChainedCommitThatIsCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fate  fate
		items int
	}{
		"before it is sent":    {cutBefore, 1},
		"behind its execution": {cutAfter, 2},
		"without an answer":    {swallow, 2},
		"when it was answered": {cutAfterNext, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := newProxied(t, chainSQL, CommitTimeout(2*time.Second))
			chain := b.Chain(always)
			defer chain.Close()
			require.NoError(t, chained(t, chain, insert(1)))
			p.do(c.fate)
			err := chained(t, chain, insert(2))
			if c.fate == cutAfterNext {
				require.NoError(t, err)
				tx, err := chain.Begin(t.Context(), TxOptions{})
				require.NoError(t, err)
				require.Error(t, insert(3)(t.Context(), tx), "the connection was lost behind the commit")
				tx.Rollback()
			} else {
				require.ErrorIs(t, err, ErrUnknownOutcome)
			}
			if c.fate == swallow {
				<-p.answered
				p.cut() // then the driver gives the connection up
			}
			p.do(pass)
			require.Equal(t, c.items, b.items())
			require.NoError(t, chained(t, chain, insert(4)))
			require.Equal(t, c.items+1, b.items())
			p.cut()
		})
	}
}

// A long chain gives its connection back now and then, and database/sql remembers
// no statement more often than once in it.
func TestALongChainEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.Chain(always)
	defer c.Close()
	s := b.Statement(`SELECT $1::int`)
	require.NoError(t, s.Prepare(t.Context()))
	for n := range chainLength {
		require.NoError(t, chained(t, c, func(ctx context.Context, tx *Transaction) error {
			_, err := s.Exec(ctx, tx, n)
			require.Len(t, tx.stmts, 1)
			return err
		}))
	}
	b.idle()
}
