package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// publishers is how many goroutines publish at once.
const publishers = 8

// emitScenario: one business row and the publication, in one transaction.
func emitScenario(s server, o options) scenario {
	const bare, river = "bare business transaction, database/sql", "River InsertTx"
	c := scenario{
		name: "emit", about: "One business row and the publication in one transaction, 8 publishers.", columns: rateColumns("transaction"),
		beside: []base{{"bare", bare}, {"River", river}},
	}
	c.add(bare, func(ctx context.Context) ([]float64, error) { return s.emitTidings(ctx, 0, 0, o.seconds) })
	for _, listeners := range []int{0, 1, 3} {
		c.add(fmt.Sprintf("Tidings, recorded event, deferred listeners: %d", listeners), func(ctx context.Context) ([]float64, error) {
			return s.emitTidings(ctx, 1, listeners, o.seconds)
		})
	}
	c.add("bare business transaction, pgx", func(ctx context.Context) ([]float64, error) { return s.emitRiver(ctx, false, o.seconds) })
	c.add(river, func(ctx context.Context) ([]float64, error) { return s.emitRiver(ctx, true, o.seconds) })
	c.add("floor: pgbench, bare business transaction", func(ctx context.Context) ([]float64, error) { return s.floorBusiness(ctx, o.seconds) })
	return c
}

func (s server) emitTidings(ctx context.Context, events, listeners int, d time.Duration) ([]float64, error) {
	name := fmt.Sprintf("emit%d", listeners)
	u, err := setup{listeners: listeners, workers: publishers, publishOnly: true}.at(ctx, s, name)
	if err != nil {
		return nil, err
	}
	a, err := u.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := execute(ctx, a.db, emptied, `CHECKPOINT`); err != nil {
		return nil, err
	}
	figures, n, err := s.publish(d, func(n int64) error {
		return a.place.Execute(ctx, Place{OrderID: n, Times: events, Business: true})
	})
	if err != nil {
		return nil, err
	}
	if err := a.stop(ctx); err != nil {
		return nil, err
	}
	return figures, s.verify(ctx, name, `SELECT (SELECT count(*) FROM biz) = $1
		AND (SELECT count(*) FROM "bench.orders"."@event:OrderPlaced") = $2
		AND (SELECT count(*) FROM tidings.delivery WHERE state = 'READY') = $3`, n, n*events, n*listeners)
}

func (s server) emitRiver(ctx context.Context, insert bool, d time.Duration) ([]float64, error) {
	b, err := s.openRiver(ctx, riverSetup{workers: publishers})
	if err != nil {
		return nil, err
	}
	defer b.pool.Close()
	if err := b.execute(ctx, `TRUNCATE biz, river_job`, `CHECKPOINT`); err != nil {
		return nil, err
	}
	figures, n, err := s.publish(d, func(n int64) error { return b.publish(ctx, n, insert) })
	if err != nil {
		return nil, err
	}
	jobs := 0
	if insert {
		jobs = n
	}
	return figures, s.verify(ctx, "river", `SELECT (SELECT count(*) FROM biz) = $1 AND (SELECT count(*) FROM river_job) = $2`, n, jobs)
}

// publish writes a business row and, on request, a job of River's.
func (b *riverBench) publish(ctx context.Context, n int64, insert bool) error {
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, businessSQL, n, int64(100), "x"); err != nil || !insert {
			return err
		}
		_, err := b.client.InsertTx(ctx, tx, invoiceArgs{n, "customer", 100, "EUR"}, nil)
		return err
	})
}

// publish has publishers call f for a time, with numbers from 1. It returns the
// figures and how often they called.
func (s server) publish(d time.Duration, f func(int64) error) ([]float64, int, error) {
	var count atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	m := s.meter()
	for range publishers {
		all.Go(func() {
			for time.Since(m.at) < d && failed.Load() == nil {
				if err := f(count.Add(1)); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return nil, 0, *err
	}
	n := int(count.Load())
	return m.per(n), n, nil
}
