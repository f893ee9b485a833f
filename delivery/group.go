package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
)

// errGroup marks what went wrong with a group before its outcome could be
// unknown: all of it was rolled back, and its jobs run alone.
var errGroup = errors.New("group rolled back")

// processGroup runs the jobs of a group in one transaction. On any failure each
// runs alone, in the same attempt, so that the outcomes stay independent.
func (w *worker) processGroup(jobs []*job) {
	returned := false
	var seen observed
	defer func() {
		if !returned { // Goexit: this goroutine ends; the jobs run alone on others
			seen.ended(OutcomeUngrouped, errGoexit)
			w.processSingly(jobs, len(seen))
		}
	}()
	err := access.Protect(func() error { return w.attemptGroup(jobs, &seen) })
	returned = true
	switch {
	case err == nil:
		seen.ended(OutcomeCompleted, nil)
	case !errors.Is(err, errGroup) && errors.Is(err, persistence.ErrUnknownOutcome):
		for i, j := range jobs {
			seen[i](w.conclude(j, err), err) // the fence decides about each
		}
	default:
		seen.ended(OutcomeUngrouped, err)
		w.processSingly(jobs, len(seen))
	}
}

// observed ends what an observer was told of the jobs of a group.
type observed []func(Outcome, error)

func (o observed) ended(outcome Outcome, err error) {
	for _, end := range o {
		end(outcome, err)
	}
}

// processSingly runs jobs one after another, each alone and on a goroutine of its
// own, which its listener may end; after a stop it hands them back: unspent, unless
// their listener had started in the group, as that of the first few had.
func (w *worker) processSingly(jobs []*job, started int) {
	for i, j := range jobs {
		switch {
		case w.working.Err() == nil:
			var alone sync.WaitGroup
			alone.Go(func() { w.process(j) })
			alone.Wait()
		case i < started:
			w.observer.Unstarted(j.lane.identity(), w.handBackStarted(j, errStopping))
		default:
			w.handBack([]*job{j}, 0)
			w.observer.Unstarted(j.lane.identity(), OutcomeHandedBack)
		}
	}
}

// attemptGroup runs one transaction for all jobs. Jobs that are not this node's
// any more are left out, and looked at alone afterwards.
func (w *worker) attemptGroup(jobs []*job, seen *observed) error {
	l := jobs[0].lane
	ctx, cancel := context.WithTimeoutCause(w.working, l.policy.TimeLimit*time.Duration(len(jobs)), errLimit)
	defer cancel()
	t, err := w.chain.Begin(ctx, persistence.TxOptions{Isolation: l.policy.Isolation})
	if err != nil {
		return fmt.Errorf("%w: %w", errGroup, err)
	}
	defer t.Rollback()
	if err := w.acknowledgeGroup(ctx, t, jobs); err != nil {
		return fmt.Errorf("%w: %w", errGroup, err)
	}
	started := time.Now()
	for _, j := range jobs {
		inner, end := w.observer.Started(ctx, j.observed())
		*seen = append(*seen, end)
		if err := w.deliverInGroup(inner, t, j); err != nil {
			return fmt.Errorf("%w: %w", errGroup, err)
		}
	}
	if time.Since(started) > longListener {
		numbers, _ := ids(jobs)
		if _, err := w.q.refreshGroup.Exec(ctx, t, numbers); err != nil {
			return fmt.Errorf("%w: %w", errGroup, err)
		}
	}
	return t.Commit(ctx)
}

// deliverInGroup runs one listener within its own time limit. What it swallowed
// shows before its neighbours run on an aborted transaction.
func (r *run) deliverInGroup(ctx context.Context, t *persistence.Transaction, j *job) error {
	ctx, cancel := context.WithTimeoutCause(ctx, j.lane.policy.TimeLimit, errLimit)
	defer cancel()
	if err := r.deliver(ctx, t, j); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.Doomed()
}

// acknowledgeGroup acknowledges the jobs in one statement. A job that is lost or
// locked fails the group: alone, its own fence decides about it.
func (r *run) acknowledgeGroup(ctx context.Context, t *persistence.Transaction, jobs []*job) error {
	l := jobs[0].lane
	numbers, tokens := ids(jobs)
	n, err := r.q.acknowledgeGroup.Exec(ctx, t, l.millis, l.appName, numbers, tokens)
	if err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	if lost := len(jobs) - int(n); lost != 0 {
		return fmt.Errorf("%w: %d of %d", errFenced, lost, len(jobs))
	}
	return nil
}
