package kernel_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/usecase"
)

func TestATypeDeclaredInATestBodyIsStoredAndDelivered(t *testing.T) {
	t.Parallel()
	type address struct{ Street, Zip string }
	type Moved struct {
		Stop  int64
		To    address
		Old   *address
		At    time.Time
		Ref   uuid.UUID
		Cents uint64
	}
	type Move struct{ Stop int64 }
	type deps struct{ Moved events.Emitter[Moved] }
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("X", 3600))
	sent := Moved{Stop: 7, To: address{"Main", "1"}, At: at, Ref: uuid.New(), Cents: 1<<64 - 1}
	got := make(chan events.Self[Moved, struct{}], 1)
	k := kerneltest.New(t, kernel.Module("test",
		events.Declare[Moved]("test.app.Moved"),
		usecase.Declare("test.app.Move", func(ctx context.Context, self access.Self[Move, deps]) (int64, error) {
			return self.Input.Stop, self.Deps.Moved.Emit(ctx, sent)
		}),
		events.Deferred("test.app.Notify", func(_ context.Context, self events.Self[Moved, struct{}]) error {
			got <- self
			return nil
		}),
	))
	n, err := kerneltest.Get[usecase.Usecase[Move, int64]](k).Execute(t.Context(), Move{7})
	require.NoError(t, err)
	require.EqualValues(t, 7, n)
	k.Drain()
	self := <-got
	require.True(t, self.Event.At.Equal(at))
	require.Equal(t, 1, self.Meta.Attempt)
	require.Equal(t, "test.app.Notify", self.Meta.Listener)
	require.Len(t, kerneltest.Emitted[Moved](k), 1)
	self.Event.At = sent.At
	require.Equal(t, sent, self.Event)
}
