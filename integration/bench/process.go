package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tidings-go/tidings/kernel"
)

// processScenario: per job one effect row and the acknowledgement, in one
// transaction.
func processScenario(s server, o options) scenario {
	c := scenario{name: "process", unit: "jobs/s, effect and acknowledgement in one transaction"}
	add := func(name string, run func(context.Context) (float64, error)) {
		c.contenders = append(c.contenders, contender{name, run})
	}
	add("floor, 8 clients", func(ctx context.Context) (float64, error) { return s.floor(ctx, floorProcess, 8, o.seconds) })
	for _, workers := range []int{8, 16} {
		add(fmt.Sprintf("Tidings, %d workers", workers), func(ctx context.Context) (float64, error) {
			return s.processTidings(ctx, workers, o.jobs)
		})
	}
	for _, workers := range []int{8, 16} {
		add(fmt.Sprintf("River JobCompleteTx, %d workers", workers), func(ctx context.Context) (float64, error) {
			return s.processRiver(ctx, workers, o.jobs)
		})
	}
	return c
}

// processTidings publishes jobs with nobody there to deliver them, and then
// measures how long a node takes.
func (s server) processTidings(ctx context.Context, workers, jobs int) (float64, error) {
	const chunk = 1000
	publisher, err := s.startApp(ctx, "tidings", 1, 2, nil, kernel.PublishOnly())
	if err != nil {
		return 0, err
	}
	if err := execute(ctx, publisher.db, `TRUNCATE tidings.delivery, "bench.orders"."@event:OrderPlaced", effect`); err != nil {
		return 0, err
	}
	for n := 0; n < jobs; n += chunk {
		if err := publisher.place.Execute(ctx, Place{OrderID: int64(n), Times: min(chunk, jobs-n)}); err != nil {
			return 0, err
		}
	}
	if err := execute(ctx, publisher.db, `VACUUM ANALYZE`, `CHECKPOINT`); err != nil {
		return 0, err
	}
	if err := publisher.stop(ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	node, err := s.startApp(ctx, "tidings", 1, workers, nil)
	if err != nil {
		return 0, err
	}
	if err := until(ctx, func() bool { return node.delivered.Load() >= int64(jobs) }); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	if err := node.stop(ctx); err != nil {
		return 0, err
	}
	return float64(jobs) / took.Seconds(), s.verify(ctx, "tidings", `SELECT
		(SELECT count(*) FROM effect) = $1 AND (SELECT count(*) FROM tidings.delivery WHERE state = 'COMPLETED') = $1`, jobs)
}

// verify fails if the work was not done: a fast contender that loses jobs wins
// nothing.
func (s server) verify(ctx context.Context, name, query string, jobs int) error {
	db, err := s.database(ctx, name, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	var ok bool
	if err := db.GetContext(ctx, &ok, query, jobs); err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s did not do its work: %s", name, query)
	}
	return nil
}

// until waits for a condition, looking every millisecond.
func until(ctx context.Context, ok func() bool) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
