package app

import (
	"context"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// CompleteStop notes that a parcel was handed over.
type CompleteStop struct{ Stop uuid.UUID }

// Completed is what the delivery costs, moves included.
type Completed struct{ Price domain.Money }

type completeDeps struct {
	Tours     Tours
	Completed events.Emitter[StopCompleted]
}

func completeStop(ctx context.Context, self access.Self[CompleteStop, completeDeps]) (Completed, error) {
	stop, err := self.Deps.Tours.Stop(ctx, self.Tx, self.Input.Stop)
	if err != nil {
		return Completed{}, err
	}
	if err := stop.Complete(); err != nil {
		return Completed{}, err
	}
	if err := self.Deps.Tours.Save(ctx, self.Tx, stop); err != nil {
		return Completed{}, err
	}
	return Completed{Price: stop.Price()}, self.Deps.Completed.Emit(ctx, StopCompleted{
		Stop: stop.ID(), Tour: stop.Tour(), PriceCents: stop.Price().Cents(),
	})
}
