package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
)

// Kinds of failure, as the jobs and the history keep them.
const (
	FailureListener = "LISTENER" // the listener or its transaction failed
	FailurePayload  = "PAYLOAD"  // the stored event cannot be rebuilt
	FailureAttempts = "ATTEMPTS" // lost in its last attempt
	FailureLease    = "LEASE"    // the node died or was paused
	FailureUnknown  = "UNKNOWN"  // the outcome of the commit is unknown
)

// failure is what went wrong with a job.
type failure struct {
	kind    string
	final   bool // FAILED whatever the attempts
	unspent bool // the attempt was not started: give it back
	err     error
}

// failRetries is how often recording a failure is tried. After that the lease
// ends the claim.
const failRetries = 3

// fail records a failed attempt in a short transaction on another connection:
// WAITING with backoff, or FAILED at the cap. The history is written in any
// case, also where the token was lost meanwhile.
func (r *run) fail(j *job, f failure) Outcome {
	final := f.final || j.attempt >= j.lane.policy.MaxAttempts
	wait := j.lane.policy.Wait(j.attempt)
	unspent := 0
	if f.unspent {
		unspent = 1
	}
	args := []any{
		j.id, j.token.String(), final, wait.Microseconds(), f.kind, "",
		j.run, j.attempt - unspent, r.node.String(), unspent,
	}
	text := errorText(f.err, r.config.ErrorLimit)
	late, err := r.recordFailure(args, text, false)
	again := errors.Is(err, persistence.ErrUnknownOutcome)
	for n := 1; n < failRetries && err != nil && sleep(r.living, time.Duration(n)*100*time.Millisecond); n++ {
		late, err = r.recordFailure(args, text, again)
		again = again || errors.Is(err, persistence.ErrUnknownOutcome)
	}
	if err != nil {
		r.tell(slog.LevelError, "failed attempt not recorded: the lease will end the claim", j.lane.identity(),
			slog.Int64("job", j.id), slog.Any("error", err))
		return OutcomeUnrecorded
	}
	if !late && !final {
		r.retryIn(wait)
	}
	r.logFailure(j, f, final && !late)
	switch {
	case f.kind == FailureUnknown:
		return OutcomeUnknown
	case late:
		return OutcomeFenced
	case final:
		return OutcomeFailed
	default:
		return OutcomeRetried
	}
}

// failUnstarted records the failure of a job whose listener was not started.
func (r *run) failUnstarted(j *job, f failure) {
	r.observer.Unstarted(j.lane.identity(), r.fail(j, f))
}

// recordFailure sends the failure; again says that it may have been recorded
// already. Repeating is safe: the token decides about the job, and the history
// is looked at.
func (r *run) recordFailure(args []any, text string, again bool) (late bool, err error) {
	args = append(args[:len(args):len(args)], again)
	err = storable(text, func(text string) error {
		args[failText] = text
		return r.short(func(ctx context.Context, t *persistence.Transaction) error {
			return r.q.fail.QueryOne(ctx, t, args, &late)
		})
	})
	return late, err
}

// failText is the place of the error's text among the arguments of failSQL.
const failText = 5

// logFailure logs what people must look at: that jobs of a listener failed for
// good, the first at once and then one line per interval for all. Retries show in
// the view and the metrics.
func (r *run) logFailure(j *job, f failure, final bool) {
	if !final && !r.logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.Int64("job", j.id), slog.Int("attempt", j.attempt), slog.String("failure", f.kind), slog.String("error", errorText(f.err, 500)),
	}
	if final {
		r.tell(slog.LevelError, "job failed", j.lane.identity(), attrs...)
		return
	}
	r.logger.LogAttrs(context.Background(), slog.LevelDebug, "attempt failed", append(attrs, slog.String("listener", j.lane.identity()))...)
}

// handBackStarted gives a job back that the stop interrupted, unspent, a bounded
// number of times; after that the attempt counts.
func (r *run) handBackStarted(j *job, cause error) Outcome {
	var n int64
	err := storable(errorText(cause, r.config.ErrorLimit), func(text string) (err error) {
		n, err = r.exec(r.q.handBackStarted, j.id, j.token.String(), r.config.MaxHandBacks, r.node.String(), text)
		return err
	})
	if err != nil {
		r.tell(slog.LevelWarn, "interrupted job not handed back: the lease will end the claim", j.lane.identity(),
			slog.Int64("job", j.id), slog.Any("error", err))
		return OutcomeUnrecorded
	}
	if n == 0 {
		return r.fail(j, failure{kind: FailureListener, err: fmt.Errorf("handed back %d times: %w", r.config.MaxHandBacks, cause)})
	}
	return OutcomeHandedBack
}

// errorText returns what is kept of an error: NUL and invalid UTF-8, which
// PostgreSQL's text cannot hold, replaced, and a long text cut. A panic keeps its
// stack.
func errorText(err error, limit int) string {
	text := safeText(err)
	var p *access.PanicError
	if errors.As(err, &p) {
		text += "\n" + string(p.Stack)
	}
	whole := len(text)
	if whole > 4*limit { // before the costly repairs
		text = text[:4*limit]
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… [cut: %d bytes in all]", text[:cut], whole)
}

// safeText is err's text, also where its Error method panics.
func safeText(err error) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("error of type %T, whose text panics: %v", err, v)
		}
	}()
	return err.Error()
}

// storable has f store text, and where the database's encoding cannot hold it,
// text with all but ASCII escaped: a failure must not be lost for its words.
func storable(text string, f func(text string) error) error {
	err := f(text)
	if state := persistence.SQLState(err); state == "22021" || state == "22P05" {
		return f(asciiText(text))
	}
	return err
}

func asciiText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
