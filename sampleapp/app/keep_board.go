package app

import (
	"context"

	"github.com/tidings-go/tidings/events"
)

// boardDeps is what the synchronous listeners that keep the board need. They run
// inside emit, in the publisher's transaction: if one fails, the publisher's
// whole work is undone.
type boardDeps struct{ Board Board }

func openOnBoard(ctx context.Context, self events.Self[TourPlanned, boardDeps]) error {
	e := self.Event
	return self.Deps.Board.Open(ctx, self.Tx, BoardRow{Tour: e.Tour, Day: e.Day, Driver: e.Driver, Stops: e.Stops})
}

func moveOnBoard(ctx context.Context, self events.Self[StopMoved, boardDeps]) error {
	return self.Deps.Board.CountMove(ctx, self.Tx, self.Event.Tour)
}

func completeOnBoard(ctx context.Context, self events.Self[StopCompleted, boardDeps]) error {
	return self.Deps.Board.CountCompletion(ctx, self.Tx, self.Event.Tour)
}
