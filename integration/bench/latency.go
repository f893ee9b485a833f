package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tidings-go/tidings/kernel"
)

// latencyScenario: from the end of the publisher's commit to the start of the
// listener.
func latencyScenario(s server, o options) scenario {
	c := scenario{name: "latency", unit: "ms from commit to start, median of a run"}
	for _, rate := range []int{50, 500} {
		c.contenders = append(c.contenders,
			contender{fmt.Sprintf("Tidings, same process, %d/s", rate), func(ctx context.Context) (float64, error) {
				return s.latencyTidings(ctx, rate, false, o.seconds)
			}},
			contender{fmt.Sprintf("Tidings, another node, %d/s", rate), func(ctx context.Context) (float64, error) {
				return s.latencyTidings(ctx, rate, true, o.seconds)
			}},
			contender{fmt.Sprintf("River, %d/s", rate), func(ctx context.Context) (float64, error) {
				return s.latencyRiver(ctx, rate, o.seconds)
			}})
	}
	return c
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

func (w *stopwatch) whole() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.started) >= len(w.committed)
}

// median returns the median in milliseconds; a listener that started before its
// publisher knew of the commit counts as 0.
func (w *stopwatch) median() float64 {
	var all []float64
	for order, at := range w.committed {
		all = append(all, max(0, w.started[order].Sub(at).Seconds()*1000))
	}
	slices.Sort(all)
	return median(all)
}

// drive publishes at a rate for a time, each publication on a goroutine of its
// own, and waits until all of it has started.
func (w *stopwatch) drive(ctx context.Context, rate int, d time.Duration, publish func(int64) error) error {
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
		return until(ctx, w.whole)
	}
}

func (s server) latencyTidings(ctx context.Context, rate int, other bool, d time.Duration) (float64, error) {
	w := newStopwatch()
	started := func(e OrderPlaced) { w.note(w.started, e.OrderID) }
	node, err := s.startApp(ctx, "latency", 1, 8, started)
	if err != nil {
		return 0, err
	}
	publisher := node
	if other {
		if publisher, err = s.startApp(ctx, "latency", 1, 8, nil, kernel.PublishOnly()); err != nil {
			return 0, err
		}
	}
	err = w.drive(ctx, rate, d, func(n int64) error {
		return publisher.place.Execute(ctx, Place{OrderID: n, Times: 1, Business: true})
	})
	if err != nil {
		return 0, err
	}
	if other {
		if err := publisher.stop(ctx); err != nil {
			return 0, err
		}
	}
	return w.median(), node.stop(ctx)
}

func (s server) latencyRiver(ctx context.Context, rate int, d time.Duration) (float64, error) {
	w := newStopwatch()
	b, err := s.openRiver(ctx, 8, func(order int64) { w.note(w.started, order) })
	if err != nil {
		return 0, err
	}
	defer b.pool.Close()
	if _, err := b.pool.Exec(ctx, `TRUNCATE river_job`); err != nil {
		return 0, err
	}
	if err := b.client.Start(ctx); err != nil {
		return 0, err
	}
	err = w.drive(ctx, rate, d, func(n int64) error {
		return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, businessSQL, n, int64(100), "x"); err != nil {
				return err
			}
			_, err := b.client.InsertTx(ctx, tx, invoiceArgs{n, "customer", 100, "EUR"}, nil)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return w.median(), b.client.Stop(ctx)
}
