package app

import (
	"context"

	"github.com/tidings-go/tidings/events"
)

type reportDeps struct{ Reports Reports }

// reportDay writes the office's report of a closed day.
func reportDay(ctx context.Context, self events.Self[DayClosed, reportDeps]) error {
	e := self.Event
	done := Done{Tours: e.Tours, Stops: e.Stops, Completed: e.Completed}
	return self.Deps.Reports.Write(ctx, self.Tx, e.Day, done, self.Meta.EventID)
}
