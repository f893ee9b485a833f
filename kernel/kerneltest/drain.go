package kerneltest

import (
	"context"
	"fmt"
	"time"

	"github.com/tidings-go/tidings/persistence/schema"
)

// drainTimeout is how long Drain waits at most.
const drainTimeout = time.Minute

// settleSQL makes jobs due that wait for a retry, so that a test does not wait
// through the backoff. Blocked jobs and claimed ones are left alone.
const settleSQL = `UPDATE %[1]s.delivery SET due_at = clock_timestamp()
WHERE state = 'WAITING' AND due_at > clock_timestamp()`

// unsettledSQL counts the jobs that are still to be delivered.
const unsettledSQL = `SELECT count(*) FROM %[1]s.jobs WHERE state IN ('READY', 'WAITING', 'CLAIMED')`

// Drain waits until every job is completed, failed, cancelled or blocked, also
// those that listeners add meanwhile. Waits for a retry are cut short. It fails
// the test after a minute and says which jobs are left.
func (k *Kernel) Drain() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	framework := schema.Quote(k.parts.Schema)
	for {
		if err := k.settle(ctx, framework); err != nil {
			k.t.Fatalf("drain: %v", err)
		}
		var left int
		if err := k.DB().GetContext(ctx, &left, fmt.Sprintf(unsettledSQL, framework)); err != nil {
			k.t.Fatalf("drain: %v (jobs left:%s)", err, k.left(framework))
		}
		if left == 0 {
			return
		}
		select {
		case <-ctx.Done():
			k.t.Fatalf("drain: jobs left after %v:%s", drainTimeout, k.left(framework))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (k *Kernel) settle(ctx context.Context, framework string) error {
	tx, err := k.DB().BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(settleSQL, framework)); err != nil {
		return err
	}
	return tx.Commit()
}

// left describes the jobs that are not settled.
func (k *Kernel) left(framework string) string {
	var lines []string
	err := k.DB().Select(&lines, fmt.Sprintf(`SELECT format('job %%s of %%s: %%s, attempt %%s, %%s', id, listener, state, attempts, last_error)
FROM %s.jobs WHERE state IN ('READY', 'WAITING', 'CLAIMED') ORDER BY id LIMIT 20`, framework))
	if err != nil {
		return err.Error()
	}
	var text string
	for _, l := range lines {
		text += "\n  " + l
	}
	return text
}
