package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// latencyScenario: from the end of the publisher's commit to the start of the
// listener, at a rate per second.
func latencyScenario(name string, rate int) func(server, options) scenario {
	return func(s server, o options) scenario {
		const river = "River"
		d := o.seconds * time.Duration(1+min(1, 100/rate)) // rare publications for twice as long
		c := scenario{
			name: name, about: fmt.Sprintf("From the end of the commit to the start of the listener, %d publications a second.", rate),
			columns: []string{"p50 ms", "p99 ms"}, beside: []base{{"River", river}},
		}
		c.add("Tidings, same process", func(ctx context.Context) ([]float64, error) { return s.latencyTidings(ctx, rate, d, false) })
		c.add("Tidings, another process", func(ctx context.Context) ([]float64, error) { return s.latencyTidings(ctx, rate, d, true) })
		c.add(river, func(ctx context.Context) ([]float64, error) { return s.latencyRiver(ctx, rate, d) })
		return c
	}
}

// stopwatch notes when an order was committed and when its listener started.
type stopwatch struct {
	mu        sync.Mutex
	committed map[int64]time.Time
	started   map[int64]time.Time
}

func newStopwatch() *stopwatch {
	return &stopwatch{committed: map[int64]time.Time{}, started: map[int64]time.Time{}}
}

func (w *stopwatch) note(times map[int64]time.Time, order int64) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	times[order] = now
}

// whole waits until all that was committed has started.
func (w *stopwatch) whole(ctx context.Context) error {
	return until(ctx, func() (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.started) >= len(w.committed), nil
	})
}

// percentiles returns p50 and p99 in milliseconds. A listener that started before
// its publisher knew of the commit counts as 0; the first publications, which
// find cold connections, do not count.
func (w *stopwatch) percentiles(cold int) []float64 {
	var all []float64
	for order, at := range w.committed {
		if order >= int64(min(cold, len(w.committed)/2)) {
			all = append(all, max(0, w.started[order].Sub(at).Seconds()*1000))
		}
	}
	return []float64{percentile(all, 50), percentile(all, 99)}
}

// drive publishes at a rate for a time, each publication on a goroutine of its
// own.
func (w *stopwatch) drive(rate int, d time.Duration, publish func(int64) error) error {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var all sync.WaitGroup
	failed := make(chan error, 1)
	for n := range int64(float64(rate) * d.Seconds()) {
		<-tick.C
		all.Go(func() {
			if err := publish(n); err != nil {
				select {
				case failed <- err:
				default:
				}
				return
			}
			w.note(w.committed, n)
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// drive publishes through the app.
func (a *app) drive(ctx context.Context, w *stopwatch, rate int, d time.Duration) error {
	return w.drive(rate, d, func(n int64) error {
		return a.place.Execute(ctx, Place{OrderID: n, Times: 1, Business: true})
	})
}

func (s server) latencyTidings(ctx context.Context, rate int, d time.Duration, other bool) ([]float64, error) {
	const name = "latency"
	w := newStopwatch()
	u, err := setup{
		listeners: 1, workers: 8, started: func(e OrderPlaced) { w.note(w.started, e.OrderID) },
	}.at(ctx, s, name)
	if err != nil {
		return nil, err
	}
	node, err := u.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := execute(ctx, node.db, emptied); err != nil {
		return nil, err
	}
	if other {
		err = task{URL: u.url, Rate: rate, For: d}.child(ctx, &w.committed)
	} else {
		err = node.drive(ctx, w, rate, d)
	}
	if err != nil {
		return nil, err
	}
	if err := w.whole(ctx); err != nil {
		return nil, err
	}
	if err := node.stop(ctx); err != nil {
		return nil, err
	}
	return w.percentiles(rate), s.verify(ctx, name, `SELECT (SELECT count(*) FROM effect) = $1
		AND (SELECT count(*) FROM tidings.delivery WHERE state = 'COMPLETED') = $1`, len(w.committed))
}

func (s server) latencyRiver(ctx context.Context, rate int, d time.Duration) ([]float64, error) {
	w := newStopwatch()
	b, err := s.openRiver(ctx, riverSetup{workers: 8, started: func(order int64) { w.note(w.started, order) }})
	if err != nil {
		return nil, err
	}
	defer b.pool.Close()
	if err := b.backlog(ctx, 0); err != nil {
		return nil, err
	}
	if err := b.client.Start(ctx); err != nil {
		return nil, err
	}
	if err := w.drive(rate, d, func(n int64) error { return b.publish(ctx, n, true) }); err != nil {
		return nil, err
	}
	if err := w.whole(ctx); err != nil {
		return nil, err
	}
	if err := b.client.Stop(ctx); err != nil {
		return nil, err
	}
	return w.percentiles(rate), s.verify(ctx, "river", `SELECT (SELECT count(*) FROM effect) = $1
		AND (SELECT count(*) FROM river_job WHERE state = 'completed') = $1`, len(w.committed))
}
