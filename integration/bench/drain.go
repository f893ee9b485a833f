package main

import (
	"context"
	"fmt"

	"github.com/tidings-go/tidings/events"
)

// drainScenario: jobs whose listener does nothing, in the style of River's own
// bench, whose worker does nothing and whose jobs are completed in batches, after
// the work and apart from it. Tidings acknowledges in the listener's transaction
// all the same.
func drainScenario(s server, o options) scenario {
	const river = "River, 2,000 workers, batched completion"
	jobs := 3 * o.jobs
	c := scenario{
		name: "drain", about: "Listeners that do nothing.", columns: rateColumns("job"), beside: []base{{"River", river}},
	}
	c.add("Tidings, 8 workers", func(ctx context.Context) ([]float64, error) {
		return s.drain(ctx, setup{listeners: 1, workers: 8, idle: true}, jobs)
	})
	for _, n := range []int{16, 64} {
		c.add(fmt.Sprintf("Tidings, 8 workers, Grouped(%d)", n), func(ctx context.Context) ([]float64, error) {
			return s.drain(ctx, setup{listeners: 1, workers: 8, idle: true, policy: []events.ListenerOption{events.Grouped(n)}}, jobs)
		})
	}
	c.add(river, func(ctx context.Context) ([]float64, error) { return s.drainRiver(ctx, jobs) })
	return c
}
