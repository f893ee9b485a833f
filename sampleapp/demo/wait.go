package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

const (
	waitTimeout = 30 * time.Second
	waitLook    = 10 * time.Millisecond
)

// until waits until a query is true, and tells meanwhile what goes wrong with
// jobs.
func (d *day) until(ctx context.Context, what, query string, args ...any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, fmt.Errorf("waited %v until %s", waitTimeout, what))
	defer cancel()
	look := time.NewTicker(waitLook)
	defer look.Stop()
	for {
		var reached bool
		if err := d.db.GetContext(ctx, &reached, query, args...); err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		if err := d.tellNews(ctx); err != nil {
			return err
		}
		if reached {
			return nil
		}
		if d.worker != nil {
			if err := d.worker.ended(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

// tellNews tells the rows that were added to the history of the jobs.
func (d *day) tellNews(ctx context.Context) error {
	var rows []struct {
		ID                    int64
		Kind, Error, Customer string
		Attempt               int
	}
	if err := d.db.SelectContext(ctx, &rows, newsSQL, d.news); err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	for _, row := range rows {
		d.news = row.ID
		if row.Kind == "LEASE_LOST" {
			d.tell("%s: %s", row.Customer, row.Error)
		} else {
			d.tell("%s: attempt %d failed: %s", row.Customer, row.Attempt, row.Error)
		}
	}
	return nil
}

// job is one job, as the view tidings.jobs shows it.
type job struct {
	State, Reason string
	Attempts      int
}

// settled waits until the job of a customer's stop is completed or failed.
func (d *day) settled(ctx context.Context, name, listener string) (job, error) {
	const done = `SELECT EXISTS (SELECT FROM (` + jobSQL + `) job WHERE state IN ('COMPLETED', 'FAILED'))`
	var j job
	what := listener + " is done for " + name
	if err := d.until(ctx, what, done, d.stops[name], listener); err != nil {
		return j, err
	}
	return j, d.db.GetContext(ctx, &j, jobSQL, d.stops[name], listener)
}

func (d *day) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	if err := d.db.GetContext(ctx, &n, query, args...); err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return n, nil
}

// told returns how many notifications of a stop others can see.
func (d *day) told(ctx context.Context, stop uuid.UUID) (int64, error) {
	return d.number(ctx, toldSQL, stop)
}
