package events_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

// Look is an action that reads the history of Fact.
type Look struct {
	Work func(context.Context, access.Tx, lookDeps) error
}

type lookDeps struct {
	Past    events.History[Fact]
	Emitter events.Emitter[Fact]
}

func look(ctx context.Context, self access.Self[Look, lookDeps]) error {
	return self.Input.Work(ctx, self.Tx, self.Deps)
}

func startHistory(t *testing.T, opts ...events.TypeOption) (app, events.History[Fact]) {
	t.Helper()
	a := start(t, fact(append(opts, events.Recorded())...), usecase.DeclareAction("test.app.Look", look))
	return a, kerneltest.Get[events.History[Fact]](a.Kernel)
}

func TestAHistoryReadsInTheCallersTransactionOrInOneOfItsOwn(t *testing.T) {
	t.Parallel()
	a, history := startHistory(t)
	id := uuid.New()
	look := kerneltest.Get[usecase.Action[Look]](a.Kernel)
	err := look.Execute(t.Context(), Look{func(ctx context.Context, tx access.Tx, deps lookDeps) error {
		require.NoError(t, deps.Emitter.Emit(events.WithCorrelation(ctx, "c"), Fact{N: 7}, events.ID(id)))
		entry, err := deps.Past.Get(ctx, id)
		require.NoError(t, err, "it sees what its transaction wrote")
		require.Equal(t, Fact{N: 7}, entry.Event)
		require.Equal(t, "c", entry.Correlation)
		_, err = deps.Past.Get(ctx, uuid.New())
		require.ErrorIs(t, err, events.ErrNoEvent)
		_, err = history.Get(context.Background(), id)
		require.ErrorIs(t, err, events.ErrNoEvent, "others do not see it yet")
		return nil // an event that is not there spoils no transaction
	}})
	require.NoError(t, err)
	entry, err := history.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, id, entry.ID)
	require.Equal(t, time.UTC, entry.RecordedAt.Location())
	require.WithinDuration(t, entry.OccurredAt, entry.RecordedAt, time.Minute)
}

func TestAHistoryOfEventsThatNobodyStoresIsAnError(t *testing.T) {
	t.Parallel()
	a := start(t, fact())
	history := kerneltest.Get[events.History[Fact]](a.Kernel)
	_, err := history.List(t.Context(), events.Query{})
	require.ErrorIs(t, err, events.ErrNotStored)
	require.ErrorContains(t, err, "history of test.app.Fact: ")
	_, err = events.History[Fact]{}.Get(t.Context(), uuid.New())
	require.ErrorIs(t, err, access.ErrNotRunning)

	err = assembled(t, kernel.Module("m", usecase.DeclareAction("test.app.Look", look)))
	require.ErrorContains(t, err, "field Past of its Deps: nothing provides events.History[")
}

func TestWrongQueriesAreErrorsThatNameTheMistake(t *testing.T) {
	t.Parallel()
	_, history := startHistory(t)
	stub := events.HistoryOf[Fact]()
	for want, q := range map[string]events.Query{
		"limit -1: want 0 to 1000":   {Limit: -1},
		"limit 1001: want 0 to 1000": {Limit: 1001},
		"unknown order 2":            {By: 2},
		"malformed cursor":           {After: "nonsense"},
		"malformed cursor.":          {After: "!"},
		"year 10000":                 {From: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"year 0":                     {To: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		for _, h := range []events.History[Fact]{history, stub} {
			_, err := h.List(t.Context(), q)
			require.ErrorContains(t, err, want[:len(want)-1])
		}
	}
}

// The stub answers as the database does, whatever is asked: so a test with the one
// holds with the other.
func TestAHistoryPagesEveryEventOnceAndTheStubAgrees(t *testing.T) {
	t.Parallel()
	a, history := startHistory(t, events.Indexed(events.ByRecorded))
	base := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	ids := make([]uuid.UUID, 40)
	require.NoError(t, a.do(func(ctx context.Context, _ access.Tx, e events.Emitter[Fact]) error {
		for i := range ids {
			ids[i] = uuid.New()
			at := base.Add(time.Duration(i/4)*333*time.Nanosecond + time.Duration(i%2)*time.Hour)
			if err := e.Emit(ctx, Fact{N: i}, events.ID(ids[i]), events.OccurredAt(at)); err != nil {
				return err
			}
		}
		return nil
	}))
	// Times of recording that several events share, as in a fast transaction.
	_, err := a.DB().Exec(`UPDATE "test.app"."@event:Fact" SET "@recordedAt" = $1::timestamptz + ("N" / 3) * interval '1 microsecond'`, base)
	require.NoError(t, err)
	var entries []events.Entry[Fact]
	for _, id := range ids {
		entry, err := history.Get(t.Context(), id)
		require.NoError(t, err)
		entries = append(entries, entry)
	}
	stub := events.HistoryOf(entries...)
	rapid.Check(t, func(t *rapid.T) {
		q := events.Query{By: rapid.SampledFrom([]events.Order{events.ByRecorded, events.ByOccurred}).Draw(t, "by"), Limit: rapid.IntRange(1, 45).Draw(t, "limit")}
		bound := rapid.Map(rapid.Int64Range(-2, 16_000), func(n int64) time.Time { return base.Add(time.Duration(n)) })
		if rapid.Bool().Draw(t, "from") {
			q.From = bound.Draw(t, "From")
		}
		if rapid.Bool().Draw(t, "to") {
			q.To = bound.Draw(t, "To")
		}
		seen := map[uuid.UUID]bool{}
		for {
			got, err := history.List(context.Background(), q)
			require.NoError(t, err)
			want, err := stub.List(context.Background(), q)
			require.NoError(t, err)
			require.Equal(t, want, got)
			for _, e := range got.Entries {
				require.False(t, seen[e.ID], "twice")
				seen[e.ID] = true
			}
			if got.Next == "" {
				break
			}
			require.Len(t, got.Entries, q.Limit)
			q.After = got.Next
		}
		require.Len(t, seen, expected(entries, q))
	})
	page, err := history.List(t.Context(), events.Query{Limit: 5})
	require.NoError(t, err)
	_, err = history.List(t.Context(), events.Query{By: events.ByOccurred, After: page.Next})
	require.ErrorIs(t, err, events.ErrCursor)
	require.ErrorContains(t, err, "of a list in another order")
}

// expected counts the events in the bounds of a query.
func expected(entries []events.Entry[Fact], q events.Query) (n int) {
	for _, e := range entries {
		at := e.RecordedAt
		if q.By == events.ByOccurred {
			at = e.OccurredAt
		}
		if (q.From.IsZero() || !at.Before(q.From)) && (q.To.IsZero() || at.Before(q.To)) {
			n++
		}
	}
	return n
}

func TestAHistoryIsReadInAReadOnlyUsecaseAndUnderAnyIsolation(t *testing.T) {
	t.Parallel()
	for i, opt := range []usecase.Option{usecase.ReadOnly(), usecase.Isolation(4), usecase.Isolation(6)} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			a := start(t, fact(events.Recorded()), usecase.DeclareAction("test.app.Look", look, opt))
			id := uuid.New()
			require.NoError(t, a.do(emitOnce(Fact{N: 1}, events.ID(id))))
			err := kerneltest.Get[usecase.Action[Look]](a.Kernel).Execute(t.Context(), Look{func(ctx context.Context, _ access.Tx, deps lookDeps) error {
				entry, err := deps.Past.Get(ctx, id)
				require.NoError(t, err)
				require.Equal(t, 1, entry.Event.N)
				if i == 0 {
					require.ErrorIs(t, deps.Emitter.Emit(ctx, Fact{}), persistence.ErrReadOnly)
				}
				return nil
			}})
			require.NoError(t, err)
		})
	}
}
