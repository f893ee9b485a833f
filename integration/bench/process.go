package main

import (
	"context"
	"fmt"
)

// processScenario: per job one effect row and the acknowledgement, in one
// transaction.
func processScenario(s server, o options) scenario {
	c := scenario{
		name: "process", about: "One effect row and the acknowledgement in one transaction, per job.", columns: rateColumns("job"),
		beside: []base{{"floor", floorContender}, {"River", "River JobCompleteTx, 8 workers"}},
	}
	c.add(floorContender, func(ctx context.Context) ([]float64, error) { return s.floorProcess(ctx, o.seconds) })
	for _, workers := range []int{8, 16} {
		c.add(fmt.Sprintf("Tidings, %d workers", workers), func(ctx context.Context) ([]float64, error) {
			return s.drain(ctx, setup{listeners: 1, workers: workers}, o.jobs)
		})
	}
	for _, workers := range []int{8, 16} {
		c.add(fmt.Sprintf("River JobCompleteTx, %d workers", workers), func(ctx context.Context) ([]float64, error) {
			return s.processRiver(ctx, workers, o.jobs)
		})
	}
	return c
}
