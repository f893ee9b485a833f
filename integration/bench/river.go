package main

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// invoiceArgs is the same fact as OrderPlaced, as River's job.
type invoiceArgs struct {
	OrderID  int64  `json:"order_id"`
	Customer string `json:"customer"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// Kind names the job.
func (invoiceArgs) Kind() string { return "billing.send_invoice" }

// invoiceWorker writes the effect and completes the job in one transaction.
type invoiceWorker struct {
	river.WorkerDefaults[invoiceArgs]
	pool      *pgxpool.Pool
	delivered atomic.Int64
	started   func(int64)
}

// Work does one job.
func (w *invoiceWorker) Work(ctx context.Context, job *river.Job[invoiceArgs]) error {
	if w.started != nil {
		w.started(job.Args.OrderID)
	}
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, effectSQL, job.ID, "x"); err != nil {
		return err
	}
	if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	w.delivered.Add(1)
	return nil
}

// riverBench is River on a database of its own.
type riverBench struct {
	pool   *pgxpool.Pool
	worker *invoiceWorker
	client *river.Client[pgx.Tx]
}

// openRiver opens River, tuned as in its own benchmark: a short fetch cooldown
// and poll.
func (s server) openRiver(ctx context.Context, workers int, started func(int64)) (*riverBench, error) {
	db, err := s.database(ctx, "river", 1, appDDL...)
	if err != nil {
		return nil, err
	}
	_ = db.Close()
	config, err := pgxpool.ParseConfig(s.TCPURL("river"))
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(workers + 8)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	b := &riverBench{pool: pool, worker: &invoiceWorker{pool: pool, started: started}}
	registered := river.NewWorkers()
	river.AddWorker(registered, b.worker)
	b.client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:       registered,
		Logger:        slog.New(slog.NewTextHandler(io.Discard, nil)),
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
	})
	return b, err
}

func (s server) processRiver(ctx context.Context, workers, jobs int) (float64, error) {
	b, err := s.openRiver(ctx, workers, nil)
	if err != nil {
		return 0, err
	}
	defer b.pool.Close()
	for _, statement := range []string{`TRUNCATE river_job, effect`, `VACUUM ANALYZE`, `CHECKPOINT`} {
		if _, err := b.pool.Exec(ctx, statement); err != nil {
			return 0, err
		}
	}
	const chunk = 5000
	for n := 0; n < jobs; n += chunk {
		params := make([]river.InsertManyParams, min(chunk, jobs-n))
		for i := range params {
			params[i].Args = invoiceArgs{int64(n + i), "customer", 100, "EUR"}
		}
		if _, err := b.client.InsertManyFast(ctx, params); err != nil {
			return 0, err
		}
	}
	if _, err := b.pool.Exec(ctx, `VACUUM ANALYZE river_job`); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := b.client.Start(ctx); err != nil {
		return 0, err
	}
	if err := until(ctx, func() bool { return b.worker.delivered.Load() >= int64(jobs) }); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	if err := b.client.Stop(ctx); err != nil {
		return 0, err
	}
	return float64(jobs) / took.Seconds(), s.verify(ctx, "river", `SELECT (SELECT count(*) FROM effect) = $1
		AND (SELECT count(*) FROM river_job WHERE state = 'completed') = $1`, jobs)
}
