package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
)

// conflictRetries is how often a serialization failure or deadlock is retried
// within one attempt: they are the price of concurrency, not failures of the
// listener.
const conflictRetries = 5

// longListener is how long a listener may take before the completion time,
// written by the first statement, is put right.
const longListener = time.Second

var (
	errFenced  = errors.New("the job was lost before the listener started")
	errLimit   = errors.New("time limit exceeded")
	errGoexit  = errors.New("the listener ended its goroutine (runtime.Goexit)")
	errUnknown = errors.New("outcome of the delivery is unknown")
	errNotMet  = errors.New("the database was not reached before the listener started")
)

// process delivers one job: it runs the listener in a transaction that begins
// with the fenced acknowledgement, and records what went wrong.
func (w *worker) process(j *job) {
	if j.suspect {
		w.chain.Close() // the mark has a connection of its own
		if !w.mark(j) {
			return
		}
	}
	ctx, ended := w.observer.Started(w.working, j.observed())
	var outcome Outcome
	err := errGoexit // unless it returns: the transaction was rolled back on the way here
	defer func() {
		if outcome == "" {
			outcome = w.fail(j, failure{kind: FailureListener, err: err})
		}
		ended(outcome, err)
	}()
	// Looking at a listener's error runs its methods, and those of a typed nil
	// panic: that must not end the process.
	err = access.Protect(func() error {
		err := w.attempt(ctx, j)
		for n := 0; n < conflictRetries && persistence.IsRetryable(err) && w.working.Err() == nil; n++ {
			err = w.attempt(ctx, j)
		}
		return err
	})
	if p := access.Protect(func() error { outcome = w.conclude(j, err); return nil }); p != nil {
		err = p
	}
}

// conclude decides on the outcome of an attempt.
func (r *run) conclude(j *job, err error) Outcome {
	switch {
	case err == nil:
		return OutcomeCompleted
	case errors.Is(err, errFenced):
		r.tell(slog.LevelWarn, "job was lost before its listener started", j.lane.identity(), slog.Int64("job", j.id))
		return OutcomeFenced
	case errors.Is(err, errNotMet):
		wait := claimRetry
		if r.working.Err() != nil { // the stop came first: another node may run it now
			wait = 0
		}
		r.handBack([]*job{j}, wait)
		return OutcomeHandedBack
	case errors.Is(err, errStopping):
		return r.handBackStarted(j, err)
	case errors.Is(err, persistence.ErrUnknownOutcome):
		// The fence decides: if the commit went through, the token is gone.
		return r.fail(j, failure{kind: FailureUnknown, err: fmt.Errorf("%w: %w", errUnknown, err)})
	default:
		return r.fail(j, failure{kind: FailureListener, err: err})
	}
}

// mark says that a suspect is about to start. Without the mark it is not
// started: a death would not count.
func (r *run) mark(j *job) bool {
	n, err := r.exec(r.q.mark, j.id, j.token.String())
	if err != nil {
		r.complain("suspect not marked", err)
		r.handBack([]*job{j}, claimRetry)
	}
	return err == nil && n == 1
}

// attempt runs one processing transaction.
func (w *worker) attempt(ctx context.Context, j *job) error {
	ctx, cancel := context.WithTimeoutCause(ctx, j.lane.policy.TimeLimit, errLimit)
	defer cancel()
	t, err := w.chain.Begin(ctx, persistence.TxOptions{Isolation: j.lane.policy.Isolation})
	if err != nil {
		return fmt.Errorf("%w: %w", errNotMet, err)
	}
	defer t.Rollback()
	if err := w.acknowledge(ctx, t, j); err != nil {
		return because(ctx, err)
	}
	started := time.Now()
	if err := w.deliver(ctx, t, j); err != nil {
		return because(ctx, tellFirst(t, err))
	}
	if time.Since(started) > longListener {
		if _, err := w.q.refresh.Exec(ctx, t, j.id); err != nil {
			return because(ctx, err)
		}
	}
	if err := t.Commit(ctx); err != nil {
		return because(ctx, err)
	}
	return nil
}

// deliver runs the listener in t.
func (r *run) deliver(ctx context.Context, t *persistence.Transaction, j *job) error {
	return j.lane.sub.Deliver(r.db.Bind(ctx, t), t, j.event, j.attempt, j.replay)
}

// acknowledge is the first statement: fence, lock and limits in one.
func (r *run) acknowledge(ctx context.Context, t *persistence.Transaction, j *job) error {
	n, err := r.q.acknowledge.Exec(ctx, t, j.lane.millis, j.lane.appName, j.id, j.token.String())
	switch {
	case err != nil && interrupted(err):
		return fmt.Errorf("%w: acknowledge: %w", errNotMet, err)
	case err != nil:
		return fmt.Errorf("acknowledge: %w", err)
	case n != 1:
		return errFenced
	}
	return nil
}

// tellFirst adds the first SQL error to one that only says that the transaction was
// aborted before: the listener swallowed the first.
func tellFirst(t *persistence.Transaction, err error) error {
	first := t.FirstError()
	if first == nil || persistence.SQLState(err) != "25P02" || persistence.SQLState(first) == "25P02" {
		return err
	}
	return fmt.Errorf("%w; the first error was: %w", err, first)
}

// because adds to err why ctx is done, if it is: a cancelled query says only
// that it was cancelled.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, errFenced) {
		return err
	}
	cause := context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}
