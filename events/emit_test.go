package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/usecase"
)

// Fact is what the tests emit.
type Fact struct {
	N    int
	Text string
	Deep struct{ Text *string }
}

// Do is an action whose work a test writes in place.
type Do[E any] struct {
	Work func(ctx context.Context, tx access.Tx, emitter events.Emitter[E]) error
}

type doDeps[E any] struct{ Emitter events.Emitter[E] }

func do[E any](opts ...usecase.Option) fx.Option {
	return usecase.DeclareAction("test.app.Do", func(ctx context.Context, self access.Self[Do[E], doDeps[E]]) error {
		return self.Input.Work(ctx, self.Tx, self.Deps.Emitter)
	}, opts...)
}

// app is a running app in which Fact is declared; nothing is delivered unless a
// test says so.
type app struct {
	*kerneltest.Kernel
	t *testing.T
}

func start(t *testing.T, opts ...fx.Option) app {
	t.Helper()
	return startDelivering(t, append(opts, kernel.PublishOnly())...)
}

func startDelivering(t *testing.T, opts ...fx.Option) app {
	t.Helper()
	return app{kerneltest.New(t, append([]fx.Option{do[Fact](), kernel.DevSchema(`CREATE TABLE note (text text PRIMARY KEY)`)}, opts...)...), t}
}

func (a app) do(work func(context.Context, access.Tx, events.Emitter[Fact]) error) error {
	return a.doIn(a.t.Context(), work)
}

func (a app) doIn(ctx context.Context, work func(context.Context, access.Tx, events.Emitter[Fact]) error) error {
	return kerneltest.Get[usecase.Action[Do[Fact]]](a.Kernel).Execute(ctx, Do[Fact]{work})
}

func (a app) count(from string) (n int) {
	a.t.Helper()
	require.NoError(a.t, a.DB().Get(&n, `SELECT count(*) FROM `+from))
	return n
}

const (
	stored    = `"test.app"."@event:Fact"`
	jobs      = `tidings.delivery`
	notes     = `note`
	writeNote = `INSERT INTO note VALUES ($1)`
)

func fact(opts ...events.TypeOption) fx.Option { return events.Declare[Fact]("test.app.Fact", opts...) }

func later(name string) fx.Option { return events.Deferred("test.app."+name, listen[Fact]) }

func TestEmitWithoutATransactionStoresAndRunsNothing(t *testing.T) {
	t.Parallel()
	ran := 0
	a := start(t, fact(), later("Later"), events.Sync("test.app.Now", func(context.Context, events.Self[Fact, none]) error {
		ran++
		return nil
	}))
	emitter := kerneltest.Get[events.Emitter[Fact]](a.Kernel)
	require.ErrorIs(t, emitter.Emit(t.Context(), Fact{}), events.ErrNoTransaction)
	var kept context.Context
	require.NoError(t, a.do(func(ctx context.Context, _ access.Tx, _ events.Emitter[Fact]) error { kept = ctx; return nil }))
	require.ErrorIs(t, emitter.Emit(kept, Fact{}), events.ErrNoTransaction, "a transaction that has ended")
	require.Zero(t, ran)
	require.Zero(t, a.count(stored))
	require.Zero(t, a.count(jobs))
}

func TestEventJobsAndThePublishersWritesCommitAndRollBackTogether(t *testing.T) {
	t.Parallel()
	refusal := errors.New("no")
	a := start(t, fact(), later("A"), later("B"), later("C"), events.Sync("test.app.Board", func(ctx context.Context, self events.Self[Fact, none]) error {
		return self.Tx.ExecOne(ctx, writeNote, "board")
	}))
	for _, end := range []error{refusal, nil} {
		err := a.do(func(ctx context.Context, tx access.Tx, emitter events.Emitter[Fact]) error {
			require.NoError(t, tx.ExecOne(ctx, writeNote, "publisher"))
			require.NoError(t, emitter.Emit(ctx, Fact{N: 1}))
			require.Zero(t, a.count(stored)+a.count(jobs)+a.count(notes), "seen before the commit")
			return end
		})
		if end != nil {
			require.ErrorIs(t, err, refusal)
			require.Zero(t, a.count(stored)+a.count(jobs)+a.count(notes))
			require.Empty(t, kerneltest.Emitted[Fact](a.Kernel))
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 1, a.count(stored))
	require.Equal(t, 2, a.count(notes))
	var listeners []string
	require.NoError(t, a.DB().Select(&listeners, `SELECT listener FROM tidings.jobs ORDER BY id`))
	require.Equal(t, []string{"test.app.A", "test.app.B", "test.app.C"}, listeners, "one job per deferred listener")
	require.Equal(t, []Fact{{N: 1}}, kerneltest.Emitted[Fact](a.Kernel))
}

func TestARecordedEventIsStoredWithoutAListener(t *testing.T) {
	t.Parallel()
	a := start(t, fact(events.Recorded()))
	text := "deep"
	sent := Fact{N: 4, Text: "ä"}
	sent.Deep.Text = &text
	require.NoError(t, a.do(func(ctx context.Context, _ access.Tx, emitter events.Emitter[Fact]) error {
		return emitter.Emit(ctx, sent)
	}))
	require.Equal(t, 1, a.count(stored+` WHERE "N" = 4 AND "Text" = 'ä' AND "Deep.Text" = 'deep'`))
	require.Zero(t, a.count(jobs))
}

func TestAnEventThatNobodyWantsLaterIsNotStored(t *testing.T) {
	t.Parallel()
	ran := 0
	a := start(t, fact(), events.Sync("test.app.Now", func(_ context.Context, self events.Self[Fact, none]) error {
		ran++
		require.False(t, self.Meta.OccurredAt.IsZero())
		require.NotEqual(t, uuid.Nil, self.Meta.EventID)
		return nil
	}))
	require.NoError(t, a.do(func(ctx context.Context, _ access.Tx, emitter events.Emitter[Fact]) error {
		return emitter.Emit(ctx, Fact{})
	}))
	require.Equal(t, 1, ran)
	require.Zero(t, a.count(`information_schema.tables WHERE table_name = '@event:Fact'`), "it needs no table")
	require.Zero(t, a.count(jobs))
	require.Len(t, kerneltest.Emitted[Fact](a.Kernel), 1)
}

func TestTwentyEqualEventsAreTwentyEventsAndJobs(t *testing.T) {
	t.Parallel()
	a := start(t, fact(), later("Later"))
	require.NoError(t, a.do(func(ctx context.Context, _ access.Tx, emitter events.Emitter[Fact]) error {
		for range 20 {
			if err := emitter.Emit(ctx, Fact{N: 1}); err != nil {
				return err
			}
		}
		return nil
	}))
	require.Equal(t, 20, a.count(stored))
	require.Equal(t, 20, a.count(jobs))
	require.Equal(t, 20, a.count(stored+` WHERE substr(id::text, 15, 1) = '7'`), "identities are UUIDv7")
}

func TestAnAppThatIsNotRunningEmitsNothing(t *testing.T) {
	t.Parallel()
	var emitter events.Emitter[Fact]
	app := fx.New(fx.NopLogger, kernel.Options(kernel.Database(start(t, fact()).DB())), fact(), fx.Populate(&emitter))
	require.NoError(t, app.Err())
	require.ErrorIs(t, emitter.Emit(t.Context(), Fact{}), access.ErrNotRunning, "assembled")
	a := start(t, fact())
	emitter = kerneltest.Get[events.Emitter[Fact]](a.Kernel)
	require.ErrorIs(t, emitter.Emit(t.Context(), Fact{}), events.ErrNoTransaction, "running")
}

func TestAValueThatCannotBeStoredIsRefusedWithItsPathAndSpoilsNothing(t *testing.T) {
	t.Parallel()
	ran := 0
	a := start(t, fact(), later("Later"), events.Sync("test.app.Now", func(context.Context, events.Self[Fact, none]) error { ran++; return nil }))
	deep := func(text string) (f Fact) { f.Deep.Text = &text; return f }
	for path, bad := range map[string]Fact{"Text": {Text: "a\x00b"}, "Text:": {Text: "\xff"}, "Deep.Text": deep("\x00"), "Deep.Text:": deep("a\xc3")} {
		require.NoError(t, a.do(func(ctx context.Context, tx access.Tx, emitter events.Emitter[Fact]) error {
			err := emitter.Emit(ctx, bad)
			require.ErrorContains(t, err, strings.TrimSuffix(path, ":"))
			require.ErrorContains(t, err, "test.app.Fact")
			return tx.ExecOne(ctx, writeNote, path)
		}))
	}
	require.ErrorContains(t, a.doIn(events.WithCorrelation(t.Context(), "a\x00"), emitOnce(Fact{})), "correlation")
	require.Zero(t, a.count(stored)+a.count(jobs)+ran)
	require.Equal(t, 4, a.count(notes))
}

func emitOnce(f Fact, opts ...events.EmitOption) func(context.Context, access.Tx, events.Emitter[Fact]) error {
	return func(ctx context.Context, _ access.Tx, emitter events.Emitter[Fact]) error {
		return emitter.Emit(ctx, f, opts...)
	}
}

func TestTheOccurrenceTimeIsKeptToTheNanosecond(t *testing.T) {
	t.Parallel()
	at := make(chan time.Time, 10)
	listener := func(_ context.Context, self events.Self[Fact, none]) error { at <- self.Meta.OccurredAt; return nil }
	a := startDelivering(t, fact(), events.Sync("test.app.Now", listener), events.Deferred("test.app.Later", listener))
	for _, want := range []time.Time{
		time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("X", 3600)),
		time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Now(),
	} {
		require.NoError(t, a.do(emitOnce(Fact{}, events.OccurredAt(want))))
		for range 2 {
			got := <-at
			require.True(t, want.Equal(got), "%v, %v", want, got)
			require.Equal(t, time.UTC, got.Location())
		}
	}
	for _, bad := range []time.Time{time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		require.ErrorContains(t, a.do(emitOnce(Fact{}, events.OccurredAt(bad))), "events.OccurredAt")
	}
	require.ErrorContains(t, a.do(emitOnce(Fact{}, events.ID(uuid.Nil))), "nil UUID")
}

// TestAFutureOccurrenceSchedulesNothing: occurrence is domain data.
func TestAFutureOccurrenceSchedulesNothing(t *testing.T) {
	t.Parallel()
	a := startDelivering(t, fact(), later("Later"))
	require.NoError(t, a.do(emitOnce(Fact{}, events.OccurredAt(time.Now().AddDate(100, 0, 0)))))
	a.Drain()
	require.Equal(t, 1, a.count(jobs+` WHERE state = 'COMPLETED'`))
}

func TestCorrelationAndCausationAreHandedOn(t *testing.T) {
	t.Parallel()
	type (
		Second struct{ N int }
		Third  struct{ N int }
		second struct{ Second events.Emitter[Second] }
		third  struct{ Third events.Emitter[Third] }
	)
	metas := make(chan events.Meta, 3)
	a := startDelivering(t, fact(), events.Declare[Second]("test.app.Second"), events.Declare[Third]("test.app.Third"),
		events.Sync("test.app.First", func(ctx context.Context, self events.Self[Fact, second]) error {
			metas <- self.Meta
			return self.Deps.Second.Emit(ctx, Second{1})
		}),
		events.Deferred("test.app.OnSecond", func(ctx context.Context, self events.Self[Second, third]) error {
			metas <- self.Meta
			return self.Deps.Third.Emit(ctx, Third{1})
		}),
		events.Deferred("test.app.OnThird", func(_ context.Context, self events.Self[Third, none]) error {
			metas <- self.Meta
			return nil
		}),
	)
	for _, correlation := range []string{"", "request 7"} {
		require.NoError(t, a.doIn(events.WithCorrelation(t.Context(), correlation), emitOnce(Fact{})))
		a.Drain()
		first, second, third := <-metas, <-metas, <-metas
		want := correlation
		if want == "" {
			want = first.EventID.String()
		}
		require.Equal(t, uuid.Nil, first.Causation)
		require.Equal(t, first.EventID, second.Causation)
		require.Equal(t, second.EventID, third.Causation)
		for i, m := range []events.Meta{first, second, third} {
			require.Equal(t, want, m.Correlation)
			require.Equal(t, 1, m.Attempt)
			require.Equal(t, fmt.Sprintf("%s/%s", m.EventID, m.Listener), m.IdempotencyKey)
			require.Equal(t, []string{"test.app.Fact", "test.app.Second", "test.app.Third"}[i], m.Type)
		}
	}
}
