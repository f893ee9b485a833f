package app

import (
	"bytes"
	"context"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/sampleapp/domain"
	"github.com/tidings-go/tidings/usecase"
)

// SwapStops lets two stops change places: both or none.
type SwapStops struct{ A, B uuid.UUID }

// Swapped is what the swap costs.
type Swapped struct{ Fee domain.Money }

func (s SwapStops) check() error {
	if s.A == s.B {
		return domain.ErrSameStop
	}
	return nil
}

type swapDeps struct {
	Tours Tours
	Move  usecase.Usecase[MoveStop, Moved]
}

// swapStops calls MoveStop twice. Both join its transaction: if the second move
// is refused, the first one is undone with its event and its jobs.
func swapStops(ctx context.Context, self access.Self[SwapStops, swapDeps]) (Swapped, error) {
	in := self.Input
	first, second := in.A, in.B
	if bytes.Compare(first[:], second[:]) > 0 { // two swaps lock in one order
		first, second = second, first
	}
	at := map[uuid.UUID]domain.Address{}
	for _, id := range []uuid.UUID{first, second} {
		stop, err := self.Deps.Tours.Stop(ctx, self.Tx, id)
		if err != nil {
			return Swapped{}, err
		}
		at[id] = stop.Address()
	}
	a, err := self.Deps.Move.Execute(ctx, MoveStop{Stop: in.A, To: at[in.B]})
	if err != nil {
		return Swapped{}, err
	}
	b, err := self.Deps.Move.Execute(ctx, MoveStop{Stop: in.B, To: at[in.A]})
	if err != nil {
		return Swapped{}, err
	}
	return Swapped{Fee: a.Fee.Plus(b.Fee)}, nil
}
