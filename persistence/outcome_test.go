package persistence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// newProxied returns a bench whose pool goes through a proxy.
func newProxied(t *testing.T, on string, opts ...Option) (bench, *proxy) {
	t.Helper()
	b := newBench(t)
	var name string
	require.NoError(t, b.side.QueryRowContext(t.Context(), `SELECT current_database()`).Scan(&name))
	p, url := newProxy(t, pgtest.Server(t).URL(name), on)
	b.Database = New(onePool(t, url), opts...)
	return b, p
}

// noHook makes a hook that must not run.
func noHook(t *testing.T) func() {
	return func() { t.Error("an after-commit hook ran") }
}

func TestAnAnswerLostAfterTheCommitIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	b, p := newProxied(t, "COMMIT")
	p.do(cutAfter)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		return insert(1)(ctx, tx)
	})
	require.ErrorIs(t, err, ErrUnknownOutcome)
	require.NotErrorIs(t, err, ErrAborted)
	require.Equal(t, 1, b.items(), "it was committed in truth")
	p.do(pass)
	b.idle()
}

func TestACommitLostOnTheWayIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	b, p := newProxied(t, "COMMIT")
	p.do(cutBefore)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		return insert(1)(ctx, tx)
	})
	require.ErrorIs(t, err, ErrUnknownOutcome)
	p.do(pass)
	b.idle()
	require.Zero(t, b.items(), "it was not committed in truth")
}

func TestASilentServerIsAnUnknownOutcomeAfterTheCommitTimeout(t *testing.T) {
	t.Parallel()
	b, p := newProxied(t, "COMMIT", CommitTimeout(time.Second))
	p.do(swallow)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		return insert(1)(ctx, tx)
	})
	require.ErrorIs(t, err, ErrUnknownOutcome)
	<-p.answered
	require.Equal(t, 1, b.items())
	p.do(pass)
	p.cut() // then the driver gives the connection up
	b.idle()
}

func TestAConnectionLostBeforeTheCommitIsAKnownFailure(t *testing.T) {
	t.Parallel()
	for _, f := range []fate{cutBefore, cutAfter} {
		b, p := newProxied(t, "SELECT 'cut'")
		err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
			tx.AfterCommit(noHook(t))
			require.NoError(t, insert(1)(ctx, tx))
			p.do(f)
			_, err := tx.ExecContext(ctx, `SELECT 'cut'`)
			require.Error(t, err)
			return nil // swallowed
		})
		require.ErrorIs(t, err, ErrAborted)
		require.NotErrorIs(t, err, ErrUnknownOutcome)
		require.ErrorIs(t, err, driver.ErrBadConn, "the first error is the cause")
		p.do(pass)
		b.idle()
		require.Zero(t, b.items())
	}
}

func TestAConnectionLostUnnoticedBeforeTheCommitIsNeverASuccess(t *testing.T) {
	t.Parallel()
	b, p := newProxied(t, "SELECT 'cut'")
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		require.NoError(t, insert(1)(ctx, tx))
		p.do(cutAfterNext)
		_, err := tx.ExecContext(ctx, `SELECT 'cut'`)
		<-p.answered
		return err
	})
	require.Error(t, err)
	p.do(pass)
	b.idle()
	require.Zero(t, b.items())
}

func TestAFailureOfADeferredConstraintIsNotCalledUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		return tx.ExecOne(ctx, `INSERT INTO item VALUES (1, 99)`)
	})
	require.Equal(t, "23503", SQLState(err), "%v", err)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	require.Zero(t, b.items())
	b.idle()
}

// TestACancelledCommitIsNotCalledUnknown has an operator cancel COMMIT while a
// deferred trigger runs: the server answers, and lives on. (A statement_timeout
// does not reach so far: PostgreSQL ends it before it commits.)
func TestACancelledCommitIsNotCalledUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.side.ExecContext(t.Context(), `CREATE TABLE slow (n int);
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`)
	require.NoError(t, err)
	var cancels sync.WaitGroup
	err = b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		mine, _, err := pid(ctx, tx)
		require.NoError(t, err)
		cancels.Go(func() {
			b.waitFor(`SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`, mine)
			if _, err := b.side.ExecContext(t.Context(), `SELECT pg_cancel_backend($1)`, mine); err != nil {
				t.Error(err)
			}
		})
		return tx.ExecOne(ctx, `INSERT INTO slow VALUES (1)`)
	})
	cancels.Wait()
	require.Equal(t, "57014", SQLState(err), "%v", err)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	b.idle()
}

func TestASerializationFailureAtCommitIsKnownAndRetryable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	serializable := TxOptions{Isolation: sql.LevelSerializable}
	other := New(onePool(t, poolURL(t, b)))
	err := b.Required(t.Context(), serializable, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		require.NoError(t, tx.GetContext(ctx, new(int), `SELECT count(*) FROM item`))
		require.NoError(t, other.Required(t.Context(), serializable, func(ctx context.Context, tx *Transaction) error {
			require.NoError(t, tx.GetContext(ctx, new(int), `SELECT count(*) FROM item`))
			return insert(1)(ctx, tx)
		}))
		_ = insert(2)(ctx, tx) // fails here or at COMMIT
		return nil
	})
	require.True(t, IsRetryable(err), "%v", err)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	require.Equal(t, 1, b.items())
}

func poolURL(t *testing.T, b bench) string {
	t.Helper()
	var name string
	require.NoError(t, b.side.QueryRowContext(t.Context(), `SELECT current_database()`).Scan(&name))
	return pgtest.Server(t).URL(name)
}

func TestABackendThatDiesInCommitIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.side.ExecContext(t.Context(), `CREATE TABLE fatal (n int);
CREATE FUNCTION fatal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER fatal AFTER INSERT ON fatal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fatal()`)
	require.NoError(t, err)
	err = b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		return tx.ExecOne(ctx, `INSERT INTO fatal VALUES (1)`)
	})
	require.ErrorIs(t, err, ErrUnknownOutcome)
	b.idle()
}

func TestATerminatedBackendFailsTheTransactionAndNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		require.NoError(t, insert(1)(ctx, tx))
		b.terminateAll()
		require.Error(t, insert(2)(ctx, tx))
		return nil
	})
	require.ErrorIs(t, err, ErrAborted)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	b.idle()
	require.Zero(t, b.items())
}

// terminateAll ends every other session of the database and waits for that.
func (b bench) terminateAll() {
	b.t.Helper()
	const others = `FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
	_, err := b.side.ExecContext(b.t.Context(), `SELECT pg_terminate_backend(pid, 60000) `+others)
	require.NoError(b.t, err)
	b.waitFor(`SELECT (count(*) = 0)::int ` + others)
}

func TestAfterAllPooledConnectionsWentStaleTheNextTransactionWorks(t *testing.T) {
	t.Parallel()
	const size = 20
	b := newBench(t)
	b.side.SetMaxOpenConns(1)
	b.Pool().SetMaxOpenConns(size)
	b.Pool().SetMaxIdleConns(size)
	var wg, all sync.WaitGroup
	all.Add(size)
	for i := range size { // all at once, so that each has a connection
		wg.Go(func() {
			err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
				all.Done()
				all.Wait()
				return insert(i)(ctx, tx)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, size, b.Pool().Stats().Idle)
	b.terminateAll()
	require.NoError(t, b.Required(t.Context(), TxOptions{}, insert(size)))
	require.Equal(t, size+1, b.items())
}

// As behind a pooler whose server is down: connections open, and nothing begins.
func TestConnectionsThatOpenAndDoNotBeginAreTriedNoMoreThanTwice(t *testing.T) {
	t.Parallel()
	b, p := newProxied(t, "BEGIN")
	b.Pool().SetMaxOpenConns(10)
	p.do(cutBefore)
	_, err := b.Begin(t.Context(), TxOptions{})
	require.True(t, IsConnectionError(err), "%v", err)
	require.LessOrEqual(t, p.accepted(), 2)
	p.do(pass)
	b.idle()
}

func TestTheWaitForTheAnswerToBeginEndsWithItsContext(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, *Transaction) error { return nil }
	for name, required := range map[string]func(b bench) func(context.Context) error{
		"on a connection of its own": func(b bench) func(context.Context) error {
			return func(ctx context.Context) error { return b.Required(ctx, TxOptions{}, nothing) }
		},
		"on a reserved connection": func(b bench) func(context.Context) error {
			r := b.Reserve()
			b.t.Cleanup(r.Close)
			require.NoError(b.t, r.Required(b.t.Context(), TxOptions{}, nothing))
			return func(ctx context.Context) error { return r.Required(ctx, TxOptions{}, nothing) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := newProxied(t, "BEGIN")
			run := required(b)
			p.do(swallow)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-p.answered
				cancel()
			}()
			require.ErrorIs(t, run(ctx), context.Canceled)
			p.do(pass)
			p.cut() // then the driver gives the connection up
			b.idle()
			require.NoError(t, run(t.Context()))
		})
	}
}

func TestAServerThatCrashesInTheMiddleOfATransactionLeavesNothing(t *testing.T) {
	t.Parallel()
	server, err := pgserver.Start(t.Context(), pgserver.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	db := New(onePool(t, server.URL("postgres")))
	require.NoError(t, db.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		_, err := tx.ExecContext(ctx, itemDDL)
		return err
	}))
	err = db.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
		tx.AfterCommit(noHook(t))
		require.NoError(t, insert(1)(ctx, tx))
		require.NoError(t, server.Crash(ctx))
		require.Error(t, insert(2)(ctx, tx))
		return nil
	})
	require.ErrorIs(t, err, ErrAborted)
	require.Zero(t, db.Pool().Stats().InUse)
	require.Error(t, db.Required(t.Context(), TxOptions{}, insert(1)), "the server is down")
	require.NoError(t, server.Restart(t.Context()))
	require.NoError(t, db.Required(t.Context(), TxOptions{}, insert(1)), "nothing of the first try is left")
	db.CloseStatements() // waits for the one that is prepared aside
	require.Zero(t, db.Pool().Stats().InUse)
}

// TestAContextThatEndsWithAStatementIsNeverAnUnknownOutcome races the end of a
// context with that of the last statement it was passed to: the driver then
// may give the connection up although the statement succeeded.
func TestAContextThatEndsWithAStatementIsNeverAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 300 {
		err := b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
			short, cancel := context.WithCancel(ctx)
			defer cancel()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for range i * 20 {
					runtime.Gosched()
				}
				cancel()
			}()
			_, err := tx.ExecContext(short, insertItem, i)
			<-ended
			return err // nil in some rounds, although the connection is gone
		})
		require.NotErrorIs(t, err, ErrUnknownOutcome, "round %d", i)
	}
	b.idle()
}
