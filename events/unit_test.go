package events_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
)

func TestRecordToRecordsWhatIsEmittedInOrder(t *testing.T) {
	t.Parallel()
	var got []Fact
	emitter := events.RecordTo(&got)
	for n := range 3 {
		require.NoError(t, emitter.Emit(t.Context(), Fact{N: n}, events.ID(uuid.New()), nil))
	}
	require.Equal(t, []Fact{{N: 0}, {N: 1}, {N: 2}}, got)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _ = emitter.Emit(t.Context(), Fact{}) })
	}
	wg.Wait()
	require.Len(t, got, 23)
}

func TestAZeroEmitterSaysThatNothingRuns(t *testing.T) {
	t.Parallel()
	err := events.Emitter[Fact]{}.Emit(t.Context(), Fact{})
	require.ErrorIs(t, err, access.ErrNotRunning)
	require.ErrorContains(t, err, "events_test.Fact")
}

// fakeTx is a transaction of a test without a database.
type fakeTx struct {
	access.Tx
	queries []string
}

func (f *fakeTx) ExecOne(_ context.Context, query string, _ ...any) error {
	f.queries = append(f.queries, query)
	return nil
}

func (*fakeTx) QueryxContext(context.Context, string, ...any) (*sqlx.Rows, error) {
	return nil, errors.New("no database")
}

func TestAListenerIsTestedByFillingItsSelf(t *testing.T) {
	t.Parallel()
	type deps struct{ Next events.Emitter[Fact] }
	listener := func(ctx context.Context, self events.Self[Fact, deps]) error {
		if err := self.Tx.ExecOne(ctx, `UPDATE board`, self.Event.N); err != nil {
			return err
		}
		return self.Deps.Next.Emit(ctx, Fact{N: self.Event.N + self.Meta.Attempt})
	}
	tx := &fakeTx{}
	var emitted []Fact
	err := listener(t.Context(), events.Self[Fact, deps]{
		Event: Fact{N: 7}, Meta: events.Meta{Attempt: 2}, Deps: deps{events.RecordTo(&emitted)}, Tx: tx,
	})
	require.NoError(t, err)
	require.Equal(t, []string{`UPDATE board`}, tx.queries)
	require.Equal(t, []Fact{{N: 9}}, emitted)
}
