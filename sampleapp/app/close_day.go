package app

import (
	"context"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// CloseDay ends a day, once. It has no output, so it is an action.
type CloseDay struct{ Day domain.Day }

func (c CloseDay) check() error {
	if c.Day.IsZero() {
		return domain.ErrNoDay
	}
	return nil
}

type closeDeps struct {
	Tours  Tours
	Closed events.Emitter[DayClosed]
}

func closeDay(ctx context.Context, self access.Self[CloseDay, closeDeps]) error {
	done, err := self.Deps.Tours.CloseDay(ctx, self.Tx, self.Input.Day)
	if err != nil {
		return err
	}
	return self.Deps.Closed.Emit(ctx, DayClosed{
		Day: self.Input.Day.String(), Tours: done.Tours, Stops: done.Stops, Completed: done.Completed,
	})
}
