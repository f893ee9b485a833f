package events_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

func publishOnly() fx.Option { return kernel.PublishOnly() }

func TestASyncListenerRunsInThePublishersTransaction(t *testing.T) {
	t.Parallel()
	const session = `SELECT pg_backend_pid()::bigint * 10000000000 + pg_current_xact_id()::text::bigint`
	var heard int64
	a := start(t, fact(), events.Sync("test.app.Board", func(ctx context.Context, self events.Self[Fact, none]) error {
		require.Equal(t, "test.app.Board", self.Meta.Listener)
		require.Equal(t, Fact{N: 7}, self.Event)
		if err := self.Tx.ExecOne(ctx, `UPDATE note SET text = 'seen' WHERE text = 'written'`); err != nil {
			return err // it sees what the publisher has not committed
		}
		return self.Tx.GetContext(ctx, &heard, session)
	}))
	a.DB().SetMaxOpenConns(1)
	require.NoError(t, a.do(func(ctx context.Context, tx access.Tx, emitter events.Emitter[Fact]) error {
		require.NoError(t, tx.ExecOne(ctx, writeNote, "written"))
		require.NoError(t, emitter.Emit(ctx, Fact{N: 7}))
		var mine int64
		require.NoError(t, tx.GetContext(ctx, &mine, session))
		require.Equal(t, mine, heard)
		return nil
	}))
	require.Equal(t, 1, a.count(notes+` WHERE text = 'seen'`))
}

func TestAProjectionUpdateThatHitsNoRowFailsThePublisher(t *testing.T) {
	t.Parallel()
	a := start(t, fact(), later("Later"), events.Sync("test.app.Board", func(ctx context.Context, self events.Self[Fact, none]) error {
		return self.Tx.ExecOne(ctx, `UPDATE note SET text = 'x' WHERE text = 'missing'`)
	}))
	err := a.do(func(ctx context.Context, _ access.Tx, emitter events.Emitter[Fact]) error {
		_ = emitter.Emit(ctx, Fact{})
		return nil
	})
	require.ErrorIs(t, err, persistence.ErrRollbackOnly)
	require.ErrorIs(t, err, persistence.ErrNotOneRow)
	require.ErrorContains(t, err, "test.app.Board (events/sync_test.go:", "the listener and its place")
	require.Zero(t, a.count(stored)+a.count(jobs))
}

var errListener = errors.New("the listener's own error")

func TestAFailedSyncListenerRollsBackThoughItsErrorIsSwallowed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func() error{
		"error":  func() error { return errListener },
		"panic":  func() error { panic(errListener) },
		"Goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := start(t, fact(), later("Later"), events.Sync("test.app.Board", func(ctx context.Context, self events.Self[Fact, none]) error {
				if err := self.Tx.ExecOne(ctx, writeNote, "board"); err != nil {
					return err
				}
				return end()
			}))
			err := a.do(func(ctx context.Context, tx access.Tx, emitter events.Emitter[Fact]) error {
				require.NoError(t, tx.ExecOne(ctx, writeNote, "publisher"))
				var wg sync.WaitGroup
				wg.Go(func() {
					if err := emitter.Emit(ctx, Fact{}); err != nil && !errors.Is(err, errListener) {
						t.Error(err)
					}
				})
				wg.Wait()
				return tx.ExecOne(ctx, writeNote, "after")
			})
			require.ErrorIs(t, err, persistence.ErrRollbackOnly)
			if name != "Goexit" {
				require.ErrorIs(t, err, errListener)
			}
			require.Zero(t, a.count(stored)+a.count(jobs)+a.count(notes))
			a.DB().SetMaxOpenConns(1)
			require.NoError(t, a.do(func(ctx context.Context, tx access.Tx, _ events.Emitter[Fact]) error { // the connection came back
				return tx.GetContext(ctx, new(int), `SELECT 1`)
			}))
			require.Empty(t, kerneltest.Emitted[Fact](a.Kernel))
		})
	}
}

func TestTheFirstFailedSyncListenerEndsTheEmit(t *testing.T) {
	t.Parallel()
	ran := 0
	listener := func(context.Context, events.Self[Fact, none]) error { ran++; return errListener }
	a := start(t, fact(), events.Sync("test.app.A", listener), events.Sync("test.app.B", listener), events.Sync("test.app.C", listener))
	require.ErrorIs(t, a.do(emitOnce(Fact{})), errListener)
	require.Equal(t, 1, ran)
}

func TestTheOrderOfSyncListenersIsShuffledInTests(t *testing.T) {
	t.Parallel()
	var order string
	hear := func(name string) fx.Option {
		return events.Sync("test.app."+name, func(context.Context, events.Self[Fact, none]) error { order += name; return nil })
	}
	a := start(t, fact(), hear("C"), hear("A"), hear("B"))
	seen := map[string]bool{}
	for len(seen) < 6 { // all six come, or the test never ends
		order = ""
		require.NoError(t, a.do(emitOnce(Fact{})))
		require.Len(t, order, 3)
		seen[order] = true
	}
}

func TestWithoutATestKitTheOrderOfSyncListenersIsThatOfTheirIdentities(t *testing.T) {
	t.Parallel()
	var order string
	hear := func(name string) fx.Option {
		return events.Sync("test.app."+name, func(context.Context, events.Self[Fact, none]) error { order += name; return nil })
	}
	other := start(t, fact())
	var action usecase.Action[Do[Fact]]
	running := fx.New(fx.NopLogger, kernel.Options(kernel.Database(other.DB()), kernel.PublishOnly()),
		hear("C"), hear("A"), do[Fact](), hear("B"), fact(), fx.Populate(&action))
	require.NoError(t, running.Start(t.Context()))
	for range 10 {
		require.NoError(t, action.Execute(t.Context(), Do[Fact]{emitOnce(Fact{})}))
	}
	require.NoError(t, running.Stop(t.Context()))
	require.Equal(t, "ABCABCABCABCABCABCABCABCABCABC", order)
}

type (
	Ping struct{ N int }
	Pong struct{ N int }
)

func TestListenersThatEmitToEachOtherWithoutEndAreStopped(t *testing.T) {
	t.Parallel()
	type pings struct{ Ping events.Emitter[Ping] }
	type pongs struct{ Pong events.Emitter[Pong] }
	deepest := 0
	k := kerneltest.New(t, publishOnly(), events.Declare[Ping]("test.app.Ping", events.Recorded()), events.Declare[Pong]("test.app.Pong", events.Recorded()),
		events.Sync("test.app.OnPing", func(ctx context.Context, self events.Self[Ping, pongs]) error {
			deepest = self.Event.N
			return self.Deps.Pong.Emit(ctx, Pong{self.Event.N + 1})
		}),
		events.Sync("test.app.OnPong", func(ctx context.Context, self events.Self[Pong, pings]) error {
			deepest = self.Event.N
			return self.Deps.Ping.Emit(ctx, Ping{self.Event.N + 1})
		}),
		do[Ping](),
	)
	err := kerneltest.Get[usecase.Action[Do[Ping]]](k).Execute(t.Context(), Do[Ping]{
		func(ctx context.Context, _ access.Tx, emitter events.Emitter[Ping]) error {
			return emitter.Emit(ctx, Ping{1})
		},
	})
	require.ErrorIs(t, err, events.ErrDepth)
	require.NotErrorIs(t, err, access.ErrDepth)
	require.Equal(t, events.MaxDepth, deepest)
	for _, table := range []string{"Ping", "Pong"} {
		var n int
		require.NoError(t, k.DB().Get(&n, `SELECT count(*) FROM "test.app"."@event:`+table+`"`))
		require.Zero(t, n)
	}
}

// TestDepthIsOfTheFlowNotOfTheTransaction: a usecase may emit any number of
// events one after another.
func TestDepthIsOfTheFlowNotOfTheTransaction(t *testing.T) {
	t.Parallel()
	a := start(t, fact(), events.Sync("test.app.Now", func(context.Context, events.Self[Fact, none]) error { return nil }))
	require.NoError(t, a.do(func(ctx context.Context, _ access.Tx, emitter events.Emitter[Fact]) error {
		for range 4 * events.MaxDepth {
			if err := emitter.Emit(ctx, Fact{}); err != nil {
				return err
			}
		}
		return nil
	}))
}
