package main

import (
	"context"
	"fmt"

	"github.com/tidings-go/tidings/events"
)

// groupedScenario: the work of process, by groups, with and without jobs that
// fail for good.
func groupedScenario(s server, o options) scenario {
	const single = "Tidings, single"
	c := scenario{
		name: "grouped", about: "The work of *process*, 8 workers, several jobs in one transaction; in some runs every hundredth job fails for good.",
		columns: rateColumns("job"), beside: []base{{"floor", floorContender}, {"single", single}},
	}
	c.add(floorContender, func(ctx context.Context) ([]float64, error) { return s.floorProcess(ctx, o.seconds) })
	for _, group := range []int{1, 16, 64} {
		for _, poison := range []int64{0, 100} {
			u := setup{listeners: 1, workers: 8, poison: poison, policy: []events.ListenerOption{events.MaxAttempts(1)}}
			name := single
			if group > 1 {
				name = fmt.Sprintf("Tidings, Grouped(%d)", group)
				u.policy = append(u.policy, events.Grouped(group))
			}
			if poison > 0 {
				name += ", 1 % fail"
			}
			c.add(name, func(ctx context.Context) ([]float64, error) { return s.drain(ctx, u, o.jobs) })
		}
	}
	return c
}
