package delivery

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
)

// Outcome is how an attempt ended, as an observer is told.
type Outcome string

// The outcomes of attempts.
const (
	OutcomeCompleted  Outcome = "completed"   // effect and acknowledgement are committed
	OutcomeRetried    Outcome = "retried"     // failed, and will be tried again
	OutcomeFailed     Outcome = "failed"      // failed for good
	OutcomeFenced     Outcome = "fenced"      // the job had been lost: nothing of it stayed
	OutcomeHandedBack Outcome = "handed_back" // interrupted by the stop or the database, unspent
	OutcomeUnknown    Outcome = "unknown"     // whether the commit went through is not known
	OutcomeUngrouped  Outcome = "ungrouped"   // its group was rolled back: it runs alone, in the same attempt
	OutcomeUnrecorded Outcome = "unrecorded"  // failed, and the failure could not be recorded: the lease ends it
)

// Outcomes are all outcomes.
var Outcomes = []Outcome{
	OutcomeCompleted, OutcomeRetried, OutcomeFailed, OutcomeFenced, OutcomeHandedBack, OutcomeUnknown,
	OutcomeUngrouped, OutcomeUnrecorded,
}

// Attempt is one attempt that is about to start.
type Attempt struct {
	// Listener describes the listener; EventType is the event's identity.
	Listener  *access.Declaration
	EventType string
	EventID   uuid.UUID
	Job       int64
	Attempt   int
	Replay    int
	// Delay is how long the job has been due, by the database clock.
	Delay time.Duration
	// Trace is the trace context that was stored with the event, or "";
	// Correlation is what its publisher gave it.
	Trace, Correlation string
}

// Observer sees what a node does. Its methods are called on the paths of work,
// from many goroutines: they must be quick and must not panic.
type Observer interface {
	// Started is called before an attempt starts. The listener runs on the
	// context that it returns, which must be derived from ctx; the returned
	// function is called once when the attempt has ended.
	Started(ctx context.Context, a Attempt) (context.Context, func(Outcome, error))
	// Unstarted tells of a job that ended without its listener being started.
	Unstarted(listener string, o Outcome)
	// LeasesLost tells how many jobs this node took back whose leases had
	// expired, on whatever node.
	LeasesLost(jobs int)
}

// blind observes nothing.
type blind struct{}

func (blind) Started(ctx context.Context, _ Attempt) (context.Context, func(Outcome, error)) {
	return ctx, func(Outcome, error) {}
}
func (blind) Unstarted(string, Outcome) {}
func (blind) LeasesLost(int)            {}

// observed describes the attempt that j is about to start.
func (j *job) observed() Attempt {
	return Attempt{
		Listener: j.lane.sub.Listener.Declaration(), EventType: j.lane.sub.Type.Declaration().Identity, EventID: j.eventID,
		Job: j.id, Attempt: j.attempt, Replay: j.replay,
		// The node's clock may be wrong by hours; the time since the claim is
		// measured by its monotonic clock.
		Delay: j.late + time.Since(j.claimedAt),
		Trace: j.event.Trace, Correlation: j.event.Correlation,
	}
}

// Workers returns how many workers of this node run a listener now, and how many
// it has; none while it is stopped.
func (e *Engine) Workers() (busy, all int) {
	r := e.current.Load()
	if r == nil {
		return 0, 0
	}
	return r.buffers.busy(), e.config.Workers
}
