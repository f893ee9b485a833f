package persistence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

const itemDDL = `CREATE TABLE item (
	id bigint PRIMARY KEY,
	parent bigint REFERENCES item DEFERRABLE INITIALLY DEFERRED
)`

const insertItem = `INSERT INTO item (id) VALUES ($1)`

// bench is a Database on a pool of one connection, beside which a test looks at
// the rows through another pool: nothing here may need a second connection.
type bench struct {
	*Database
	t    *testing.T
	side *sql.DB
}

func newBench(t *testing.T, opts ...Option) bench {
	t.Helper()
	url := pgtest.Database(t, itemDDL)
	side, err := sql.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, side.Close()) })
	return bench{New(onePool(t, url), opts...), t, side}
}

func onePool(t *testing.T, url string) *sqlx.DB {
	t.Helper()
	pool, err := sqlx.Open("postgres", url)
	require.NoError(t, err)
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = pool.Close() }) // an error where the last session was terminated
	return pool
}

func (b bench) items() (n int) {
	b.t.Helper()
	require.NoError(b.t, b.side.QueryRowContext(b.t.Context(), `SELECT count(*) FROM item`).Scan(&n))
	return n
}

// idle waits until no connection is in use, for a statement may be prepared aside
// and a lost COMMIT ends on a goroutine of its own, and asserts that the pool
// still works.
func (b bench) idle() {
	b.t.Helper()
	for start := time.Now(); b.Pool().Stats().InUse > 0; runtime.Gosched() {
		require.Less(b.t, time.Since(start), time.Minute, "a connection did not come back")
	}
	require.NoError(b.t, b.Required(b.t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		return tx.GetContext(ctx, new(int), `SELECT 1`)
	}))
}

func insert(id int) func(context.Context, *Transaction) error {
	return func(ctx context.Context, tx *Transaction) error { return tx.ExecOne(ctx, insertItem, id) }
}

func pid(ctx context.Context, tx *Transaction) (pid int, xid string, err error) {
	err = tx.QueryRowxContext(ctx, `SELECT pg_backend_pid(), pg_current_xact_id()::text`).Scan(&pid, &xid)
	return pid, xid, err
}

func TestParticipantsShareConnectionAndTransactionOfTheirOwner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, owner *Transaction) error {
		pid1, xid1, err := pid(ctx, owner)
		require.NoError(t, err)
		return b.Required(ctx, TxOptions{}, func(ctx context.Context, tx *Transaction) error {
			require.Same(t, owner, tx)
			pid2, xid2, err := pid(ctx, tx)
			require.NoError(t, err)
			require.Equal(t, pid1, pid2)
			require.Equal(t, xid1, xid2)
			require.NoError(t, tx.ExecOne(ctx, insertItem, 1))
			require.Zero(t, b.items(), "a participant committed")
			return b.Required(ctx, TxOptions{}, insert(2))
		})
	})
	require.NoError(t, err)
	require.Equal(t, 2, b.items())
	b.idle()
}

func TestTwoDatabasesDoNotSeeEachOthersTransactions(t *testing.T) {
	t.Parallel()
	b, other := newBench(t), newBench(t)
	require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		_, joined := other.Current(ctx)
		require.False(t, joined)
		require.NoError(t, other.Required(ctx, TxOptions{}, insert(1)))
		require.Equal(t, 1, other.items())
		return nil
	}))
	require.Zero(t, b.items())
}

func TestAReadOnlyTransactionRefusesWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := b.Required(t.Context(), TxOptions{ReadOnly: true}, func(ctx context.Context, tx *Transaction) error {
		require.True(t, tx.IsReadOnly())
		require.True(t, b.IsReadOnly(ctx))
		return insert(1)(ctx, tx)
	})
	require.Equal(t, "25006", SQLState(err))
	require.Zero(t, b.items())
	b.idle()
}

func TestAParticipantThatAsksForMoreThanItsOwnerHasIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, test := range []struct {
		owner, participant TxOptions
		refused            bool
	}{
		{TxOptions{}, TxOptions{}, false},
		{TxOptions{}, TxOptions{ReadOnly: true}, false},
		{TxOptions{ReadOnly: true}, TxOptions{ReadOnly: true}, false},
		{TxOptions{ReadOnly: true}, TxOptions{}, true},
		{TxOptions{}, TxOptions{Isolation: sql.LevelReadCommitted}, false},
		{TxOptions{}, TxOptions{Isolation: sql.LevelRepeatableRead}, true},
		{TxOptions{Isolation: sql.LevelRepeatableRead}, TxOptions{Isolation: sql.LevelSerializable}, true},
		{TxOptions{Isolation: sql.LevelSerializable}, TxOptions{Isolation: sql.LevelRepeatableRead}, false},
		{TxOptions{Isolation: sql.LevelSerializable}, TxOptions{}, false},
	} {
		err := b.Required(t.Context(), test.owner, func(ctx context.Context, _ *Transaction) error {
			return b.Required(ctx, test.participant, func(context.Context, *Transaction) error { return nil })
		})
		if test.refused {
			require.ErrorIs(t, err, ErrIncompatible, "%+v", test)
		} else {
			require.NoError(t, err, "%+v", test)
		}
	}
	b.idle()
}

func TestAWriterInsideAReadOnlyParticipantIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, _ *Transaction) error {
		return b.Required(ctx, TxOptions{ReadOnly: true}, func(ctx context.Context, tx *Transaction) error {
			require.True(t, b.IsReadOnly(ctx))
			require.False(t, tx.IsReadOnly())
			return b.Required(ctx, TxOptions{}, insert(1))
		})
	})
	require.ErrorIs(t, err, ErrIncompatible)
	require.Zero(t, b.items())
}

func TestASwallowedErrorOfAParticipantRollsTheOwnerBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := errors.New("first"), errors.New("second")
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(func() { t.Error("an after-commit hook ran") })
		require.NoError(t, insert(1)(ctx, tx))
		for _, cause := range []error{first, second} {
			require.ErrorIs(t, b.Required(ctx, TxOptions{}, func(context.Context, *Transaction) error { return cause }), cause)
		}
		return nil
	})
	require.ErrorIs(t, err, ErrRollbackOnly)
	require.ErrorIs(t, err, first)
	require.NotErrorIs(t, err, second)
	require.Zero(t, b.items())
	b.idle()
}

func TestASwallowedPanicOrGoexitOfAParticipantRollsTheOwnerBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, end := range map[string]func(){"panic": func() { panic("end") }, "Goexit": runtime.Goexit} {
		err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
			require.NoError(t, insert(1)(ctx, tx))
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() { _ = recover() }()
				_ = b.Required(ctx, TxOptions{}, func(context.Context, *Transaction) error {
					end()
					return nil
				})
			})
			wg.Wait()
			return nil
		})
		require.ErrorIs(t, err, ErrRollbackOnly, name)
	}
	require.Zero(t, b.items())
	b.idle()
}

func TestHoweverTheOwnerEndsItsConnectionComesBackWithoutTheRow(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(cancel context.CancelFunc) error{
		"error":    func(context.CancelFunc) error { return errors.New("no") },
		"panic":    func(context.CancelFunc) error { panic("no") },
		"Goexit":   func(context.CancelFunc) error { runtime.Goexit(); return nil },
		"canceled": func(cancel context.CancelFunc) error { cancel(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() { _ = recover() }()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := b.Required(ctx, TxOptions{}, func(ctx context.Context, tx *Transaction) error {
					tx.AfterCommit(func() { t.Error("an after-commit hook ran") })
					if err := insert(1)(ctx, tx); err != nil {
						t.Error(err)
					}
					return end(cancel)
				})
				if err == nil || errors.Is(err, ErrUnknownOutcome) {
					t.Errorf("the owner got %v", err)
				}
			})
			wg.Wait()
			require.Zero(t, b.items())
			b.idle()
		})
	}
}

func TestACancelledStatementRollsBackAndGivesTheConnectionBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	err := b.Required(ctx, TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		require.NoError(t, insert(1)(ctx, tx))
		mine, _, err := pid(ctx, tx)
		require.NoError(t, err)
		go func() {
			b.waitFor(`SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND query LIKE 'SELECT pg_sleep%' AND state = 'active'`, mine)
			cancel(enough)
		}()
		_, err = tx.ExecContext(ctx, `SELECT pg_sleep(600)`)
		require.Error(t, err)
		return nil // swallowed
	})
	require.ErrorIs(t, err, ErrAborted)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	require.Zero(t, b.items())
	b.idle()
}

// waitFor polls until the count that query gives is one.
func (b bench) waitFor(query string, args ...any) {
	for n := 0; n != 1 && b.t.Context().Err() == nil; runtime.Gosched() {
		if err := b.side.QueryRowContext(b.t.Context(), query, args...).Scan(&n); err != nil {
			b.t.Errorf("wait: %v", err)
			return
		}
	}
}

func TestRowsLeftOpenHinderNeitherCommitNorRollback(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refusal := errors.New("no")
	for _, result := range []error{nil, refusal} {
		err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
			rows, err := tx.QueryxContext(ctx, `SELECT n FROM generate_series(1, 100000) AS n`)
			require.NoError(t, err)
			require.True(t, rows.Next())
			return result
		})
		if result != nil {
			require.ErrorIs(t, err, refusal)
		}
		require.NotErrorIs(t, err, ErrUnknownOutcome)
		b.idle()
	}
}

func TestHooksRunAfterTheCommitInTheirOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var order []int
	require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		for i := range 3 {
			require.NoError(t, b.Required(ctx, TxOptions{}, func(ctx context.Context, tx *Transaction) error {
				tx.AfterCommit(func() { order = append(order, i, b.items()) })
				return insert(i)(ctx, tx)
			}))
		}
		require.Empty(t, order)
		return nil
	}))
	require.Equal(t, []int{0, 3, 1, 3, 2, 3}, order)
}

func TestEveryVerbOfAnEndedTransactionSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var kept *Transaction
	var ctx context.Context
	require.NoError(t, b.Required(t.Context(), TxOptions{}, func(inner context.Context, tx *Transaction) error {
		kept, ctx = tx, inner
		return nil
	}))
	for name, verb := range verbs(kept, `INSERT INTO item VALUES (1) RETURNING id`) {
		require.ErrorIs(t, verb(ctx), ErrEnded, name)
	}
	require.ErrorIs(t, kept.Commit(ctx), ErrEnded)
	kept.Rollback()
	_, active := b.Current(ctx)
	require.False(t, active, "an ended transaction is no longer current")
	require.Zero(t, b.items())
	b.idle()
}

func TestEveryVerbRefusesTransactionControl(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		_, before, err := pid(ctx, tx)
		require.NoError(t, err)
		for name, verb := range verbs(tx, `SELECT 1; /* x */ ROLLBACK AND CHAIN`) {
			require.ErrorIs(t, verb(ctx), ErrTransactionControl, name)
		}
		_, after, err := pid(ctx, tx)
		require.Equal(t, before, after)
		return err
	}))
}

// verbs runs a query that yields one number through each verb.
func verbs(tx *Transaction, query string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"ExecContext":   func(ctx context.Context) error { _, err := tx.ExecContext(ctx, query); return err },
		"ExecOne":       func(ctx context.Context) error { return tx.ExecOne(ctx, query) },
		"GetContext":    func(ctx context.Context) error { return tx.GetContext(ctx, new(int), query) },
		"SelectContext": func(ctx context.Context) error { return tx.SelectContext(ctx, &[]int{}, query) },
		"NamedExecContext": func(ctx context.Context) error {
			_, err := tx.NamedExecContext(ctx, query, map[string]any{})
			return err
		},
		"QueryxContext": func(ctx context.Context) error {
			rows, err := tx.QueryxContext(ctx, query)
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			return errors.Join(rows.Err(), rows.Close())
		},
		"QueryRowxContext": func(ctx context.Context) error { return tx.QueryRowxContext(ctx, query).Scan(new(int)) },
	}
}

func TestExecOneWantsExactlyOneRow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		require.NoError(t, tx.ExecOne(ctx, insertItem, 1))
		require.NoError(t, tx.ExecOne(ctx, insertItem, 2))
		err := tx.ExecOne(ctx, `UPDATE item SET parent = 1 WHERE id = $1`, 3)
		require.ErrorIs(t, err, ErrNotOneRow)
		require.ErrorContains(t, err, "0 rows")
		return tx.ExecOne(ctx, `UPDATE item SET parent = 1`)
	})
	require.ErrorIs(t, err, ErrNotOneRow)
	require.ErrorContains(t, err, "2 rows")
	require.Zero(t, b.items())
}

func TestATransactionMayBeUsedByManyGoroutines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if err := b.Required(ctx, TxOptions{}, insert(i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return nil
	}))
	require.Equal(t, 20, b.items())
}

func TestErrorsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	row := ErrRow(t.Context(), ErrEnded)
	require.ErrorIs(t, row.Err(), ErrEnded)
	require.ErrorIs(t, row.Scan(new(int)), ErrEnded)
	require.Empty(t, SQLState(errors.New("x")))
	require.False(t, IsConnectionError(nil))
	require.True(t, IsConnectionError(fmt.Errorf("x: %w", sql.ErrConnDone)))
	require.False(t, IsConnectionError(sql.ErrNoRows))
}
