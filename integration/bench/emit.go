package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tidings-go/tidings/kernel"
)

// publishers is how many goroutines publish at once.
const publishers = 8

// emitScenario: one business row and the publication, in one transaction.
func emitScenario(s server, o options) scenario {
	c := scenario{name: "emit", unit: "transactions/s, business row and publication, 8 publishers"}
	add := func(name string, run func(context.Context) (float64, error)) {
		c.contenders = append(c.contenders, contender{name, run})
	}
	add("bare business transaction, database/sql", func(ctx context.Context) (float64, error) {
		return s.emitTidings(ctx, 0, 0, o.seconds)
	})
	for _, listeners := range []int{0, 1, 3} {
		add(fmt.Sprintf("Tidings, recorded, %d listeners", listeners), func(ctx context.Context) (float64, error) {
			return s.emitTidings(ctx, 1, listeners, o.seconds)
		})
	}
	add("bare business transaction, pgx", func(ctx context.Context) (float64, error) { return s.emitRiver(ctx, false, o.seconds) })
	add("River InsertTx", func(ctx context.Context) (float64, error) { return s.emitRiver(ctx, true, o.seconds) })
	add("floor, bare business transaction", func(ctx context.Context) (float64, error) {
		return s.floor(ctx, floorBusiness, publishers, o.seconds)
	})
	return c
}

func (s server) emitTidings(ctx context.Context, events, listeners int, d time.Duration) (float64, error) {
	a, err := s.startApp(ctx, fmt.Sprintf("emit%d", listeners), listeners, publishers, nil, kernel.PublishOnly())
	if err != nil {
		return 0, err
	}
	if err := execute(ctx, a.db, `TRUNCATE biz, tidings.delivery, "bench.orders"."@event:OrderPlaced"`, `CHECKPOINT`); err != nil {
		return 0, err
	}
	rate, err := publish(d, func(n int64) error {
		return a.place.Execute(ctx, Place{OrderID: n, Times: events, Business: true})
	})
	if err != nil {
		return 0, err
	}
	return rate, a.stop(ctx)
}

func (s server) emitRiver(ctx context.Context, insert bool, d time.Duration) (float64, error) {
	b, err := s.openRiver(ctx, publishers, nil)
	if err != nil {
		return 0, err
	}
	defer b.pool.Close()
	for _, statement := range []string{`TRUNCATE biz, river_job`, `CHECKPOINT`} {
		if _, err := b.pool.Exec(ctx, statement); err != nil {
			return 0, err
		}
	}
	return publish(d, func(n int64) error {
		return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, businessSQL, n, int64(100), "x"); err != nil || !insert {
				return err
			}
			_, err := b.client.InsertTx(ctx, tx, invoiceArgs{n, "customer", 100, "EUR"}, nil)
			return err
		})
	})
}

// publish has publishers call f for a time and returns calls per second.
func publish(d time.Duration, f func(int64) error) (float64, error) {
	var count atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	begin := time.Now()
	for range publishers {
		all.Go(func() {
			for time.Since(begin) < d && failed.Load() == nil {
				if err := f(count.Add(1)); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(count.Load()) / time.Since(begin).Seconds(), nil
}
