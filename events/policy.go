package events

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/tidings-go/tidings/persistence"
)

// Policy is how a deferred listener is delivered.
type Policy struct {
	// MaxAttempts is how many started attempts a job has before it is FAILED.
	MaxAttempts int
	// BackoffFirst is the wait before the second attempt; every further wait
	// doubles up to BackoffMax.
	BackoffFirst, BackoffMax time.Duration
	// TimeLimit is how long one attempt may take.
	TimeLimit time.Duration
	// Group is how many first attempts run in one transaction at most; 1 or less
	// is one.
	Group int
	// Isolation is the isolation level of the processing transaction.
	Isolation sql.IsolationLevel
}

// Defaults of a deferred listener. Ten attempts with these waits span eight to
// nine minutes: longer than a restart of a remote system. One that talks to what
// may be down for longer wants more attempts.
const (
	DefaultMaxAttempts  = 10
	DefaultBackoffFirst = time.Second
	DefaultBackoffMax   = 10 * time.Minute
	DefaultTimeLimit    = 30 * time.Second
)

// longestBackoff is more than any retry can be good for.
const longestBackoff = 365 * 24 * time.Hour

// backoffJitter spreads the waits of jobs that failed together by 20 % to each
// side.
const backoffJitter = 0.2

// DefaultPolicy returns the policy of a listener without options.
func DefaultPolicy() Policy {
	return Policy{
		MaxAttempts: DefaultMaxAttempts, TimeLimit: DefaultTimeLimit,
		BackoffFirst: DefaultBackoffFirst, BackoffMax: DefaultBackoffMax,
	}
}

// ListenerOption sets a property of a deferred listener. What is wrong with it is
// reported at boot.
type ListenerOption func(*Policy) error

// MaxAttempts sets how many started attempts a job has, the first included,
// before it is FAILED; default DefaultMaxAttempts, at least 1.
func MaxAttempts(n int) ListenerOption {
	return func(p *Policy) error {
		if n < 1 {
			return fmt.Errorf("events.MaxAttempts(%d): want at least 1", n)
		}
		p.MaxAttempts = n
		return nil
	}
}

// Backoff sets the wait before the second attempt and the longest wait; between
// them it doubles, and every wait is spread by 20 % to each side. Defaults are
// DefaultBackoffFirst and DefaultBackoffMax; a year is the most.
func Backoff(first, longest time.Duration) ListenerOption {
	return func(p *Policy) error {
		// The spread of a wait near the longest time.Duration would overflow into
		// one that is over before it began.
		if first <= 0 || longest < first || longest > longestBackoff {
			return fmt.Errorf("events.Backoff(%v, %v): want 0 < first <= longest <= %v", first, longest, longestBackoff)
		}
		p.BackoffFirst, p.BackoffMax = first, longest
		return nil
	}
}

// TimeLimit sets how long one attempt may take before its context is cancelled
// and its transaction rolled back; default DefaultTimeLimit, between a
// millisecond and a day. It also bounds how long a paused node can hold a job,
// and an open transaction holds back vacuum: keep it short.
func TimeLimit(d time.Duration) ListenerOption {
	return func(p *Policy) error {
		if d < time.Millisecond || d > 24*time.Hour {
			return fmt.Errorf("events.TimeLimit(%v): want between 1ms and 24h", d)
		}
		p.TimeLimit = d
		return nil
	}
}

// MaxGroup is the most that Grouped takes: beyond it a group saves nothing more.
const MaxGroup = 100

// Grouped has up to n jobs of the listener run one after another in one
// transaction, with one acknowledgement and one commit: 2.2 times as fast as
// single jobs at 16 (measured on a prototype). Only first attempts are grouped. If
// anything in a group fails, all of it is rolled back and each of its jobs runs
// alone, in the same attempt, so outcomes stay independent.
//
// The price: effects outside the database of neighbours can repeat (their
// idempotency keys are the same), SET LOCAL and advisory locks of one job last
// into its neighbours, and a paused node holds a group for n time limits. Default
// is no grouping; n is from 2 to MaxGroup.
func Grouped(n int) ListenerOption {
	return func(p *Policy) error {
		if n < 2 || n > MaxGroup {
			return fmt.Errorf("events.Grouped(%d): want from 2 to %d", n, MaxGroup)
		}
		p.Group = n
		return nil
	}
}

// Isolation sets the isolation level of the processing transaction; default is
// the database's, usually READ COMMITTED. Serialization failures are retried
// within the attempt.
func Isolation(level sql.IsolationLevel) ListenerOption {
	return func(p *Policy) error {
		if !persistence.HasIsolation(level) {
			return fmt.Errorf("events.Isolation: PostgreSQL has no isolation level %s", level)
		}
		p.Isolation = level
		return nil
	}
}

// Wait returns how long to wait after the given started attempt (from 1) failed.
// It is safe at any number of attempts.
func (p Policy) Wait(attempt int) time.Duration {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(p.BackoffFirst),
		backoff.WithMaxInterval(p.BackoffMax),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(backoffJitter),
		backoff.WithMaxElapsedTime(0),
	)
	// 64 doublings take a nanosecond past every duration: more steps change
	// nothing.
	var wait time.Duration
	for range min(max(attempt, 1), 64) {
		wait = b.NextBackOff()
	}
	return wait
}
