package delivery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tidings-go/tidings/persistence"
)

// register registers the node, or renews its registration.
func (r *run) register(ctx context.Context) error {
	listeners := array(r.lanes, func(l *lane) string { return strconv.Itoa(int(l.sub.ID)) })
	renew := func(ctx context.Context, t *persistence.Transaction) error {
		if err := r.guard(ctx, t); err != nil {
			return err
		}
		_, err := r.q.register.Exec(ctx, t, r.node.String(), r.config.NodeName, listeners, micros(3*r.config.Heartbeat), r.model)
		return err
	}
	// A claim that waits, for a lock on the jobs say, holds the node's own
	// connection: then the pool serves.
	soon, cancel := context.WithTimeout(ctx, r.config.Heartbeat/2)
	defer cancel()
	err := r.own.Required(soon, persistence.TxOptions{}, renew)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		err = r.db.Required(ctx, persistence.TxOptions{}, renew)
	}
	if err != nil {
		return fmt.Errorf("register node: %w", err)
	}
	r.registered.Store(time.Now().UnixNano())
	return nil
}

// Ready says why the node does not deliver, or nil: its registration is not
// fresh, so that it claims nothing, until it can be renewed; or its claimer has
// not done its work for as long as a registration holds, because its statements
// fail or wait for a lock. It becomes ready again by itself. An engine that is
// stopped or stopping is not ready; one without deferred listeners always is.
func (e *Engine) Ready() error {
	if len(e.bus.Deferred()) == 0 {
		return nil
	}
	r := e.current.Load()
	if r == nil {
		return errors.New("delivery is not running")
	}
	if r.claiming.Err() != nil {
		return errors.New("delivery is stopping")
	}
	if age := time.Since(time.Unix(0, r.registered.Load())); age > 3*e.config.Heartbeat {
		return fmt.Errorf("the node's registration was last renewed %v ago", age.Round(time.Second))
	}
	if age := time.Since(time.Unix(0, r.claimed.Load())); age > max(3*e.config.Heartbeat, 3*e.config.Poll) {
		return fmt.Errorf("the claimer has not claimed for %v", age.Round(time.Second))
	}
	return nil
}

// heartbeat renews the registration, after a failure sooner. While that fails the
// registration goes stale, and the claim statement itself refuses to claim; once
// it is renewed, the claimer looks for what it could not claim.
func (r *run) heartbeat() {
	for wait := r.config.Heartbeat; sleep(r.living, wait); {
		wait = r.config.Heartbeat
		last := time.Unix(0, r.registered.Load())
		ctx, cancel := context.WithTimeout(r.living, r.config.Heartbeat)
		err := r.register(ctx)
		cancel()
		switch {
		case err == nil && time.Since(last) > 2*r.config.Heartbeat:
			signal(r.promoted)
		case err != nil && r.living.Err() == nil:
			wait /= 4
			r.complain("node registration not renewed", err)
		}
	}
}

// deregister removes the node, so that others know at once. Best effort: without
// it the registration expires.
func (r *run) deregister() {
	if _, err := r.exec(r.q.deregister, r.node.String()); err != nil {
		r.complain("node not deregistered", err)
	}
}

// sleep waits for d, or returns false when ctx is done before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
