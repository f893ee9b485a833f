package app

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/sampleapp/domain"
	"github.com/tidings-go/tidings/usecase"
)

// fakeTours keeps one stop.
type fakeTours struct {
	Tours
	stop  *domain.Stop
	saved int
}

func (f *fakeTours) Stop(context.Context, access.Tx, uuid.UUID) (*domain.Stop, error) {
	return f.stop, nil
}

func (f *fakeTours) Save(context.Context, access.Tx, *domain.Stop) error {
	f.saved++
	return nil
}

func TestAMoveIsPricedSavedAndEmitted(t *testing.T) {
	t.Parallel()
	stop, err := domain.RestoreStop(domain.StoredStop{
		ID: uuid.New(), Tour: uuid.New(), Name: "Ada", Email: "ada@example.com",
		Street: "Main Street 1", Zip: "10115", City: "Berlin",
	})
	require.NoError(t, err)
	to, err := domain.NewAddress("Far Street 1", "80331", "Munich")
	require.NoError(t, err)
	note, err := domain.NewNote(" ring twice ")
	require.NoError(t, err)
	var got []StopMoved
	tours := &fakeTours{stop: stop}
	self := access.Self[MoveStop, moveDeps]{
		Input: MoveStop{Stop: stop.ID(), To: to, Note: note},
		Deps: moveDeps{
			Tours: tours,
			Price: usecase.StubService(func(_ context.Context, in PriceMove) (domain.Money, error) {
				return domain.MoveFee(in.From, in.To)
			}),
			Moved: events.RecordTo(&got),
		},
	}
	moved, err := moveStop(t.Context(), self)
	require.NoError(t, err)
	require.EqualValues(t, 600, moved.Fee.Cents())
	require.Equal(t, 1, tours.saved)
	require.Equal(t, []StopMoved{{
		Stop: stop.ID(), Tour: stop.Tour(), Customer: Recipient{Name: "Ada", Email: "ada@example.com"},
		From: Place{Street: "Main Street 1", Zip: "10115", City: "Berlin"},
		To:   Place{Street: "Far Street 1", Zip: "80331", City: "Munich"}, FeeCents: 600, Note: "ring twice",
	}}, got)

	require.NoError(t, stop.Complete())
	_, err = moveStop(t.Context(), self)
	require.Error(t, err)
	require.Len(t, got, 1, "a refused move emits nothing")
}
