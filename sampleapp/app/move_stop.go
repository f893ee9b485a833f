package app

import (
	"context"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/sampleapp/domain"
	"github.com/tidings-go/tidings/usecase"
)

// MoveStop moves a stop to another address.
type MoveStop struct {
	Stop uuid.UUID
	To   domain.Address
	Note domain.Note // for the driver; may be empty
}

// Moved is what a move costs.
type Moved struct{ Fee domain.Money }

func (m MoveStop) check() error {
	if m.To.IsZero() {
		return domain.ErrNoAddress
	}
	return nil
}

// moveDeps is all that MoveStop may call and emit.
type moveDeps struct {
	Tours Tours
	Price usecase.Service[PriceMove, domain.Money]
	Moved events.Emitter[StopMoved]
}

func moveStop(ctx context.Context, self access.Self[MoveStop, moveDeps]) (Moved, error) {
	stop, err := self.Deps.Tours.Stop(ctx, self.Tx, self.Input.Stop)
	if err != nil {
		return Moved{}, err
	}
	from := stop.Address()
	fee, err := self.Deps.Price.Call(ctx, PriceMove{From: from, To: self.Input.To})
	if err != nil {
		return Moved{}, err
	}
	if err := stop.Move(self.Input.To, fee); err != nil {
		return Moved{}, err
	}
	if err := self.Deps.Tours.Save(ctx, self.Tx, stop); err != nil {
		return Moved{}, err
	}
	return Moved{Fee: fee}, self.Deps.Moved.Emit(ctx, StopMoved{
		Stop: stop.ID(), Tour: stop.Tour(),
		Customer: Recipient{Name: stop.Customer().Name(), Email: stop.Customer().Email()},
		From:     placeOf(from), To: placeOf(stop.Address()), FeeCents: fee.Cents(), Note: self.Input.Note.String(),
	})
}

func placeOf(a domain.Address) Place { return Place{Street: a.Street(), Zip: a.Zip(), City: a.City()} }
