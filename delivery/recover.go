package delivery

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/tidings-go/tidings/persistence"
)

// recoverLost takes back expired claims, page by page. Where a page fails, each
// of its rows is tried alone, so that a bad row stops neither its page nor those
// behind it.
func (r *run) recoverLost() {
	var all int
	for after, full := int64(0), true; full && r.living.Err() == nil; {
		page, err := r.numbers(stepRecover, r.q.recover, recoverBatch, after, nil, r.config.MaxLeaseLosses)
		if err != nil && persistence.SQLState(err) != "" {
			r.note("recover", err)
			page, err = r.recoverSingly(after)
		}
		r.note("recover", err)
		full = len(page) == recoverBatch
		for _, id := range page {
			after = max(after, id)
		}
		all += len(page)
	}
	if all > 0 {
		r.observer.LeasesLost(all)
		r.tell(slog.LevelWarn, "lost jobs recovered", "", slog.Int("jobs", all))
	}
}

// recoverSingly tries each row of a page alone and returns the page.
func (r *run) recoverSingly(after int64) ([]int64, error) {
	page, err := r.numbers(stepRecover, r.q.expired, recoverBatch, after)
	for _, id := range page {
		if _, err := r.numbers(stepRecover, r.q.recover, 1, after, id, r.config.MaxLeaseLosses); err != nil {
			r.note("recover", fmt.Errorf("job %d: %w", id, err))
		}
	}
	return page, err
}

// promote makes waiting jobs ready that are due, in the same manner, and wakes
// the claimer.
func (r *run) promote() {
	for n := promoteBatch; n == promoteBatch && r.living.Err() == nil; {
		page, err := r.numbers(stepPromote, r.q.promote, promoteBatch, nil)
		if err != nil && persistence.SQLState(err) != "" {
			r.note("promote", err)
			r.promoteSingly()
			return
		}
		r.note("promote", err)
		n = len(page)
		if n > 0 {
			signal(r.promoted)
		}
	}
}

// promoteSingly tries every due row alone; those that fail, and those that
// someone has locked, are skipped.
func (r *run) promoteSingly() {
	for skip := 0; r.living.Err() == nil; {
		page, err := r.numbers(stepPromote, r.q.due, promoteBatch, skip)
		if err != nil || len(page) == 0 {
			r.note("promote", err)
			return
		}
		for _, id := range page {
			done, err := r.numbers(stepPromote, r.q.promote, 1, id)
			if err != nil {
				r.note("promote", fmt.Errorf("job %d: %w", id, err))
			}
			if len(done) == 0 {
				skip++
			}
		}
		signal(r.promoted)
	}
}

// numbers runs a statement as one step of maintenance and returns the ids it
// answers with: none where another node is at the step.
func (r *run) numbers(s step, statement *persistence.Statement, args ...any) (ids []int64, err error) {
	err = r.locked(s, func(ctx context.Context, t *persistence.Transaction) error {
		return statement.QueryEach(ctx, t, args, func(rows *sql.Rows) error {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}
