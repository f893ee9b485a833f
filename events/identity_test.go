package events_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

// board returns a synchronous listener that counts its runs.
func board(ran *int, mu *sync.Mutex) func(context.Context, events.Self[Fact, none]) error {
	return func(context.Context, events.Self[Fact, none]) error {
		mu.Lock()
		defer mu.Unlock()
		*ran++
		return nil
	}
}

func startIdentity(t *testing.T, opts ...usecase.Option) (app, func() int) {
	t.Helper()
	var mu sync.Mutex
	ran := 0
	a := app{kerneltest.New(t, do[Fact](opts...), fact(), later("A"), later("B"), events.Sync("test.app.Board", board(&ran, &mu)), publishOnly()), t}
	return a, func() int {
		mu.Lock()
		defer mu.Unlock()
		return ran
	}
}

func TestTheSameIdentityWithEqualDataIsANoOp(t *testing.T) {
	t.Parallel()
	a, ran := startIdentity(t)
	id, at := uuid.New(), time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC)
	text := "x"
	f, same := Fact{N: 1, Text: "é"}, Fact{N: 1, Text: "é"}
	f.Deep.Text, same.Deep.Text = &text, new("x")
	require.NoError(t, a.do(emitOnce(f, events.ID(id), events.OccurredAt(at))))
	for name, again := range map[string]func(context.Context, access.Tx, events.Emitter[Fact]) error{
		"all the same":         emitOnce(same, events.ID(id), events.OccurredAt(at)),
		"another zone":         emitOnce(f, events.ID(id), events.OccurredAt(at.In(time.FixedZone("X", 7200)))),
		"no occurrence time":   emitOnce(f, events.ID(id)),
		"twice in transaction": twice(f, events.ID(id)),
	} {
		require.NoError(t, a.do(again), name)
		require.NoError(t, a.doIn(events.WithCorrelation(t.Context(), "other"), again), name+", another correlation")
	}
	require.Equal(t, 1, a.count(stored))
	require.Equal(t, 2, a.count(jobs))
	require.Equal(t, 1, ran())
	require.Len(t, kerneltest.Emitted[Fact](a.Kernel), 1)
	fresh := uuid.New()
	require.NoError(t, a.do(twice(f, events.ID(fresh))), "twice in one transaction, from the start")
	require.Equal(t, 2, a.count(stored))
	require.Equal(t, 4, a.count(jobs))
}

func twice(f Fact, opts ...events.EmitOption) func(context.Context, access.Tx, events.Emitter[Fact]) error {
	return func(ctx context.Context, _ access.Tx, emitter events.Emitter[Fact]) error {
		return errors.Join(emitter.Emit(ctx, f, opts...), emitter.Emit(ctx, f, opts...))
	}
}

func TestTheSameIdentityWithDifferentDataIsAConflict(t *testing.T) {
	t.Parallel()
	a, ran := startIdentity(t)
	id, at := uuid.New(), time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC)
	text := "x"
	f := Fact{N: 1}
	deep := f
	deep.Deep.Text = &text
	require.NoError(t, a.do(emitOnce(f, events.ID(id), events.OccurredAt(at))))
	for name, again := range map[string]func(context.Context, access.Tx, events.Emitter[Fact]) error{
		"another number":                    emitOnce(Fact{N: 2}, events.ID(id)),
		"a value instead of nil":            emitOnce(deep, events.ID(id)),
		"a nanosecond later":                emitOnce(f, events.ID(id), events.OccurredAt(at.Add(1))),
		"a year later":                      emitOnce(f, events.ID(id), events.OccurredAt(at.AddDate(1, 0, 0))),
		"the zero time":                     emitOnce(f, events.ID(id), events.OccurredAt(time.Time{})),
		"different time and different data": emitOnce(Fact{N: 2}, events.ID(id), events.OccurredAt(at.Add(1))),
	} {
		err := a.do(again)
		require.ErrorIs(t, err, events.ErrEventConflict, name)
		require.ErrorContains(t, err, id.String(), name)
	}
	require.NoError(t, a.do(func(ctx context.Context, _ access.Tx, emitter events.Emitter[Fact]) error {
		require.ErrorIs(t, emitter.Emit(ctx, Fact{N: 2}, events.ID(id)), events.ErrEventConflict)
		return emitter.Emit(ctx, Fact{N: 3}) // a conflict spoils nothing of the transaction
	}))
	require.Equal(t, 1, a.count(stored+` WHERE "N" = 1`), "never a silent overwrite")
	require.Equal(t, 2, a.count(stored))
	require.Equal(t, 4, a.count(jobs))
	require.Equal(t, 2, ran())
}

// race has a first publisher emit and hold its transaction open until a second
// one waits for the same identity; the first then ends as told. It returns what
// the second got.
func (a app) race(first, second Fact, end error) error {
	id := uuid.New()
	emitted := make(chan struct{})
	release := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := a.do(func(ctx context.Context, _ access.Tx, emitter events.Emitter[Fact]) error {
			err := emitter.Emit(ctx, first, events.ID(id))
			close(emitted)
			<-release
			return errors.Join(err, end)
		})
		if !errors.Is(err, end) || end == nil && err != nil {
			a.t.Errorf("the first publisher got %v", err)
		}
	})
	result := make(chan error, 1)
	wg.Go(func() {
		<-emitted
		result <- a.do(func(ctx context.Context, tx access.Tx, emitter events.Emitter[Fact]) error {
			if err := tx.GetContext(ctx, new(int), `SELECT 1`); err != nil { // a snapshot, where one is kept
				return err
			}
			return emitter.Emit(ctx, second, events.ID(id))
		})
	})
	<-emitted
	for waits := 0; waits == 0 && a.t.Context().Err() == nil; runtime.Gosched() {
		err := a.DB().Get(&waits, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'`)
		if err != nil {
			a.t.Error(err)
			break
		}
	}
	close(release)
	wg.Wait()
	return <-result
}

var errGaveUp = errors.New("the first publisher gave up")

func TestTwoPublishersOfOneIdentityMakeOneEvent(t *testing.T) {
	t.Parallel()
	a, ran := startIdentity(t)
	for round := 1; round <= 5; round++ {
		require.NoError(t, a.race(Fact{N: 1}, Fact{N: 1}, nil), "equal data")
		require.Equal(t, 2*round-1, a.count(stored))
		require.NoError(t, a.race(Fact{N: 1}, Fact{N: 2}, errGaveUp), "the first rolled back: the second's is the event")
		require.Equal(t, 2*round, a.count(stored))
		require.ErrorIs(t, a.race(Fact{N: 3}, Fact{N: 4}, nil), events.ErrEventConflict, "different data")
		_, err := a.DB().Exec(`DELETE FROM ` + stored + ` WHERE "N" = 3`)
		require.NoError(t, err)
	}
	require.Zero(t, a.count(stored+` WHERE "N" = 4`))
	require.Equal(t, 5, a.count(stored+` WHERE "N" = 2`))
	require.Equal(t, 2*15, a.count(jobs), "one job per stored event and listener")
	require.Equal(t, 4*5, ran(), "the first of each race, and the second where the first rolled back")
}

func TestAnEventRacedUnderRepeatableReadIsNeverASilentSuccess(t *testing.T) {
	t.Parallel()
	a, _ := startIdentity(t, usecase.Isolation(sql.LevelRepeatableRead))
	for _, second := range []Fact{{N: 1}, {N: 2}} {
		err := a.race(Fact{N: 1}, second, nil)
		require.Error(t, err)
		require.True(t, persistence.IsRetryable(err) || errors.Is(err, events.ErrEventConflict), "%v", err)
	}
	require.NoError(t, a.race(Fact{N: 1}, Fact{N: 2}, errGaveUp))
	require.Equal(t, 3, a.count(stored))
	require.Equal(t, 6, a.count(jobs))
}

func TestUnderRepeatableReadARetryFindsTheEventOfTheOther(t *testing.T) {
	t.Parallel()
	mu, ran := sync.Mutex{}, 0
	type In struct{ N int }
	var a app
	id := uuid.New()
	raced := false
	a = app{kerneltest.New(t, do[Fact](), fact(), later("A"), events.Sync("test.app.Board", board(&ran, &mu)), publishOnly(),
		usecase.DeclareAction("test.app.Retry", func(ctx context.Context, self access.Self[In, doDeps[Fact]]) error {
			if err := self.Tx.GetContext(ctx, new(int), `SELECT 1`); err != nil {
				return err
			}
			if !raced { // another publisher, behind the snapshot of the first try
				raced = true
				if err := a.doIn(t.Context(), emitOnce(Fact{N: 1}, events.ID(id))); err != nil {
					return err
				}
			}
			return self.Deps.Emitter.Emit(ctx, Fact{N: self.Input.N}, events.ID(id))
		}, usecase.Isolation(sql.LevelRepeatableRead), usecase.RetryConflicts(3))), t}
	retry := kerneltest.Get[usecase.Action[In]](a.Kernel)
	require.NoError(t, retry.Execute(t.Context(), In{1}), "equal data")
	require.Equal(t, 1, a.count(stored))
	require.Equal(t, 1, a.count(jobs))
	id, raced = uuid.New(), false
	require.ErrorIs(t, retry.Execute(t.Context(), In{2}), events.ErrEventConflict, "different data")
	require.Equal(t, 2, ran)
}

// TestManyPublishersOfOneIdentityMakeOneEvent lets them run as they come.
func TestManyPublishersOfOneIdentityMakeOneEvent(t *testing.T) {
	t.Parallel()
	const rounds, publishers = 30, 6
	a, ran := startIdentity(t)
	for range rounds {
		id := uuid.New()
		var ready, wg sync.WaitGroup
		ready.Add(publishers)
		var mu sync.Mutex
		outcomes := map[string]int{}
		for i := range publishers {
			wg.Go(func() {
				ready.Done()
				ready.Wait()
				err := a.do(emitOnce(Fact{N: i / 3}, events.ID(id))) // two sets of equal ones
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					outcomes[fmt.Sprint("stored ", i/3)]++
				case errors.Is(err, events.ErrEventConflict):
					outcomes["conflict"]++
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, 3, outcomes["conflict"], "%v", outcomes)
		require.Equal(t, 3, outcomes["stored 0"]+outcomes["stored 1"], "%v", outcomes)
		require.Len(t, outcomes, 2)
	}
	require.Equal(t, rounds, a.count(stored))
	require.Equal(t, 2*rounds, a.count(jobs))
	require.Equal(t, rounds, ran())
}
