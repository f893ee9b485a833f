package main

import (
	"context"
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

// riverSetup says how River works.
type riverSetup struct {
	workers int
	idle    bool        // the worker does nothing, and River completes jobs in batches
	started func(int64) // called when a worker starts
}

// invoiceWorker writes the effect and completes the job in one transaction.
type invoiceWorker struct {
	river.WorkerDefaults[invoiceArgs]
	riverSetup
	pool      *pgxpool.Pool
	delivered atomic.Int64
}

// Work does one job.
func (w *invoiceWorker) Work(ctx context.Context, job *river.Job[invoiceArgs]) error {
	if w.started != nil {
		w.started(job.Args.OrderID)
	}
	if w.idle {
		return nil
	}
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, effectSQL, job.ID, "x"); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	if err == nil {
		w.delivered.Add(1)
	}
	return err
}

// riverBench is River on a database of its own.
type riverBench struct {
	pool   *pgxpool.Pool
	worker *invoiceWorker
	client *river.Client[pgx.Tx]
}

// riverPool is the most connections that River's bench has.
const riverPool = 24

// openRiver opens River, tuned as in its own benchmark: a short fetch cooldown
// and poll.
func (s server) openRiver(ctx context.Context, u riverSetup) (*riverBench, error) {
	db, err := s.database(ctx, "river", 1, appDDL...)
	if err != nil {
		return nil, err
	}
	_ = db.Close()
	config, err := pgxpool.ParseConfig(s.TCPURL("river"))
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(min(u.workers+8, riverPool))
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
	b := &riverBench{pool: pool, worker: &invoiceWorker{pool: pool, riverSetup: u}}
	registered := river.NewWorkers()
	river.AddWorker(registered, b.worker)
	b.client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: u.workers}},
		Workers:       registered,
		Logger:        slog.New(slog.DiscardHandler),
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
	})
	return b, err
}

func (b *riverBench) execute(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := b.pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// backlog leaves jobs that nobody works on yet, and nothing else. Their arguments
// differ: River has an index of them.
func (b *riverBench) backlog(ctx context.Context, jobs int) error {
	if err := b.execute(ctx, `TRUNCATE river_job, biz, effect`); err != nil {
		return err
	}
	const chunk = 5000
	for n := 0; n < jobs; n += chunk {
		params := make([]river.InsertManyParams, min(chunk, jobs-n))
		for i := range params {
			params[i].Args = invoiceArgs{int64(n + i), "customer", 100, "EUR"}
		}
		if _, err := b.client.InsertManyFast(ctx, params); err != nil {
			return err
		}
	}
	return b.execute(ctx, `VACUUM ANALYZE`, `CHECKPOINT`)
}

// processRiver has each worker write its effect and complete its job in one
// transaction.
func (s server) processRiver(ctx context.Context, workers, jobs int) ([]float64, error) {
	return s.workRiver(ctx, riverSetup{workers: workers}, jobs, jobs)
}

// drainRiver is River's own bench: as many workers as there, which do nothing.
func (s server) drainRiver(ctx context.Context, jobs int) ([]float64, error) {
	return s.workRiver(ctx, riverSetup{workers: 2000, idle: true}, jobs, 0)
}

func (s server) workRiver(ctx context.Context, u riverSetup, jobs, effects int) ([]float64, error) {
	b, err := s.openRiver(ctx, u)
	if err != nil {
		return nil, err
	}
	defer b.pool.Close()
	if err := b.backlog(ctx, jobs); err != nil {
		return nil, err
	}
	// River tells of a job when its completion is committed.
	completed, cancel := b.client.SubscribeConfig(&river.SubscribeConfig{ChanSize: jobs, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	count := b.worker.delivered.Load
	if u.idle {
		count = func() int64 { return int64(len(completed)) }
	}
	if err := b.client.Start(ctx); err != nil {
		return nil, err
	}
	figures, err := s.worked(ctx, jobs, count, func() (bool, error) { return true, nil })
	if err != nil {
		return nil, err
	}
	if err := b.client.Stop(ctx); err != nil {
		return nil, err
	}
	return figures, s.verify(ctx, "river", `SELECT (SELECT count(*) FROM effect) = $1
		AND (SELECT count(*) FROM river_job WHERE state = 'completed') = $2`, effects, jobs)
}
