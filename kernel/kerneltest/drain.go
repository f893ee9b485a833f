package kerneltest

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/tidings-go/tidings/persistence/schema"
)

// drainTimeout is how long Drain waits at most.
const drainTimeout = time.Minute

// settleSQL makes jobs due that wait for a retry, so that a test does not wait
// through the backoff.
const settleSQL = `UPDATE %[1]s.delivery SET due_at = clock_timestamp()
WHERE state = 'WAITING' AND due_at > clock_timestamp()`

// unsettledSQL selects the jobs that this app is still to deliver. It asks for its
// listeners, not for the state BLOCKED, which a late heartbeat shows for a moment.
const unsettledSQL = `FROM %[1]s.jobs WHERE stored_state IN ('READY', 'WAITING', 'CLAIMED') AND listener = ANY ($1)`

// Drain waits until every job of the app's deferred listeners is completed, failed
// or cancelled, also those that listeners add meanwhile. Waits for a retry are cut
// short. Jobs of listeners that the app does not have, or does not deliver
// (kernel.PublishOnly), are left alone. It fails the test after a minute and says
// which jobs are left.
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
		if err := k.DB().GetContext(ctx, &left, `SELECT count(*) `+fmt.Sprintf(unsettledSQL, framework), pq.Array(k.parts.Delivers)); err != nil {
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
	err := k.DB().Select(&lines, `SELECT format('job %s of %s: %s, attempt %s, %s', id, listener, state, attempts, last_error) `+
		fmt.Sprintf(unsettledSQL, framework)+` ORDER BY id LIMIT 20`, pq.Array(k.parts.Delivers))
	if err != nil {
		return err.Error()
	}
	var text string
	for _, l := range lines {
		text += "\n  " + l
	}
	return text
}
