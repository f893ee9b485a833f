package delivery

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/tidings-go/tidings/persistence"
)

// Batches and time-outs of maintenance. A step takes milliseconds; the time-out
// is how long a paused maintainer can hold a step's lock.
const (
	recoverBatch       = 100
	promoteBatch       = 1000
	maintenanceTimeout = 5 * time.Second
)

// step is one kind of maintenance. Any node runs it; a lock keeps two from doing
// the same at once.
type step int32

const (
	stepRecover step = iota + 1
	stepPromote
	stepTerminate
	stepNodes
)

// maintain runs maintenance until the run ends: at its interval, and promotes
// when a job that this node made wait is due before that.
func (r *run) maintain() {
	tick := time.NewTicker(r.config.Maintenance)
	defer tick.Stop()
	for {
		r.recoverLost()
		r.promote()
		r.once(stepTerminate, "overdue backends", r.q.terminate, backendPrefix(r.config.Schema))
		r.once(stepNodes, "dead nodes", r.q.forgetNodes)
		r.flush(false)
		for due := false; !due; {
			select {
			case <-r.living.Done():
				return
			case <-r.promotes:
				r.promote()
			case <-tick.C:
				due = true
			}
		}
	}
}

// retryIn has maintenance promote when a job that this node made wait is due, if
// that is before its next interval.
func (r *run) retryIn(wait time.Duration) {
	if wait < r.config.Maintenance {
		time.AfterFunc(wait+time.Millisecond, func() { signal(r.promotes) })
	}
}

// locked runs f as one step of maintenance, unless another node is at it.
func (r *run) locked(s step, f func(context.Context, *persistence.Transaction) error) error {
	return unguarded(r.db, func(ctx context.Context, t *persistence.Transaction) error {
		var settings string
		var mine bool
		timeout := strconv.FormatInt(maintenanceTimeout.Milliseconds(), 10)
		if err := r.q.lock.QueryOne(ctx, t, []any{timeout, lockClass(r.config.Schema), int32(s)}, &settings, &mine); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if !mine {
			return nil
		}
		return f(ctx, t)
	})
}

// lockClass is the first key of the advisory locks of one framework schema.
func lockClass(framework string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte("tidings maintenance " + framework))
	return int32(h.Sum32())
}

// once runs a step that is one statement.
func (r *run) once(s step, what string, statement *persistence.Statement, args ...any) {
	if r.living.Err() != nil {
		return
	}
	err := r.locked(s, func(ctx context.Context, t *persistence.Transaction) error {
		_, err := statement.Exec(ctx, t, args...)
		return err
	})
	r.note(what, err)
}

// note logs the errors of maintenance.
func (r *run) note(what string, err error) {
	if err != nil && r.living.Err() == nil {
		r.complain("maintenance not done: "+what, err)
	}
}
