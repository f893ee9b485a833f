package main

import (
	"context"
	"runtime"

	"github.com/tidings-go/tidings/events"
)

// allocationsScenario: what one event costs in allocations, from the statistics
// of the whole process over many events. Nothing is subtracted: the usecase, the
// transaction, the driver and whatever else the process does meanwhile count.
func allocationsScenario(s server, o options) scenario {
	c := scenario{
		name: "allocations", about: "Allocations of the whole process per event: a usecase that emits it to one deferred listener; a listener that does nothing.",
		columns: []string{"allocations", "bytes"},
	}
	c.add("emitted", func(ctx context.Context) ([]float64, error) { return s.emitAllocations(ctx, o.jobs) })
	c.add("delivered", func(ctx context.Context) ([]float64, error) { return s.deliverAllocations(ctx, o.jobs) })
	c.add("delivered, Grouped(64)", func(ctx context.Context) ([]float64, error) {
		return s.deliverAllocations(ctx, o.jobs, events.Grouped(64))
	})
	return c
}

// allocated starts to count allocations; the function it returns divides them by
// the units of work since.
func allocated() (per func(n int) []float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	return func(n int) []float64 {
		runtime.ReadMemStats(&after)
		return []float64{float64(after.Mallocs-before.Mallocs) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n)}
	}
}

func (s server) emitAllocations(ctx context.Context, n int) ([]float64, error) {
	const name, warm = "tidings", 100 // by then statements are prepared
	u, err := setup{listeners: 1, workers: 1, publishOnly: true}.at(ctx, s, name)
	if err != nil {
		return nil, err
	}
	a, err := u.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := execute(ctx, a.db, emptied); err != nil {
		return nil, err
	}
	var per func(int) []float64
	for i := range warm + n {
		if i == warm {
			per = allocated()
		}
		if err := a.place.Execute(ctx, Place{OrderID: int64(i), Times: 1}); err != nil {
			return nil, err
		}
	}
	figures := per(n)
	if err := a.stop(ctx); err != nil {
		return nil, err
	}
	return figures, s.verify(ctx, name, `SELECT count(*) = $1 FROM tidings.delivery`, warm+n)
}

func (s server) deliverAllocations(ctx context.Context, n int, policy ...events.ListenerOption) ([]float64, error) {
	const name = "tidings"
	u, err := setup{listeners: 1, workers: 8, idle: true, policy: policy}.at(ctx, s, name)
	if err != nil {
		return nil, err
	}
	if err := u.backlog(ctx, n); err != nil {
		return nil, err
	}
	a, err := u.start(ctx)
	if err != nil {
		return nil, err
	}
	reached := func(n int) func() (bool, error) {
		return func() (bool, error) { return a.delivered.Load() >= int64(n), nil }
	}
	if err := until(ctx, reached(1)); err != nil {
		return nil, err
	}
	before, per := min(int(a.delivered.Load()), n-1), allocated()
	if err := until(ctx, reached(n)); err != nil {
		return nil, err
	}
	figures := per(n - before)
	if err := a.stop(ctx); err != nil {
		return nil, err
	}
	return figures, s.verify(ctx, name, `SELECT count(*) = $1 FROM tidings.delivery WHERE state = 'COMPLETED'`, n)
}
