//go:build unix

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/delivery/oracle"
	"github.com/tidings-go/tidings/integration/delivery/process"
)

// Emit emits a task and notes for the oracle that it was published.
func Emit(ctx context.Context, e events.Emitter[Task], tx access.Tx, task Task) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	if err := tx.ExecOne(ctx, oracle.Publication, id, Event); err != nil {
		return err
	}
	return e.Emit(ctx, task, events.ID(id))
}

// Effect writes the listener's effect for the oracle.
func Effect(ctx context.Context, self Self) error {
	return self.Tx.ExecOne(ctx, oracle.Effect, self.Meta.EventID, self.Meta.Listener, self.Meta.Attempt, os.Getpid())
}

// announce has a child tell its test that a listener started: with the task, the
// attempt and the idempotency key, as a remote system would get it.
func announce(self Self) {
	if process.Role() != "" {
		process.Say("start %s %d %d %s", short(self), self.Event.Seq, self.Meta.Attempt, self.Meta.IdempotencyKey)
	}
}

func short(self Self) string { return strings.TrimPrefix(self.Meta.Listener, "lab.delivery.") }

// ErrOrdered is the failure of a listener that the event orders to fail.
var ErrOrdered = errors.New("the event ordered a failure")

// Obey writes the effect and then does what the event orders:
//
//	new     nothing more; a process with Plan.Old cannot read the event
//	fail N  fails in its first N attempts
//	slow N  takes N milliseconds, in a statement
//	exit    ends the process
//	turns   fails and ends the process in turn, counting its starts by the sequence turn
//	block   says so and waits for the test's word "go SEQ", or for its context
//	deaf    waits for the word alone
//	flood   leaves the rows of a large answer unread and waits like deaf
func Obey(ctx context.Context, self Self) error {
	announce(self)
	if err := Effect(ctx, self); err != nil {
		return err
	}
	if only := self.Event.Only; only != "" && only != short(self) {
		return nil
	}
	order, arg, _ := strings.Cut(self.Event.Do, " ")
	switch order {
	case "", "new":
		return nil
	case "fail":
		if n, _ := strconv.Atoi(arg); self.Meta.Attempt <= n {
			return fmt.Errorf("%w: attempt %d", ErrOrdered, self.Meta.Attempt)
		}
		return nil
	case "slow":
		_, err := self.Tx.ExecContext(ctx, `SELECT pg_sleep($1::float8 / 1000)`, arg)
		return err
	case "exit":
		os.Exit(7)
	case "turns":
		var start int // a sequence counts what is rolled back too
		if err := self.Tx.GetContext(ctx, &start, `SELECT nextval('turn')`); err != nil {
			return err
		}
		if start%2 == 0 {
			os.Exit(7)
		}
		return fmt.Errorf("%w: start %d", ErrOrdered, start)
	case "block":
		return await(ctx, self)
	case "deaf":
		return await(context.WithoutCancel(ctx), self)
	case "flood":
		return flood(ctx, self)
	}
	return fmt.Errorf("unknown order %q", self.Event.Do)
}

func flood(ctx context.Context, self Self) error {
	rows, err := self.Tx.QueryxContext(context.WithoutCancel(ctx), `SELECT repeat('x', 1000) FROM generate_series(1, 1000000)`)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return errors.New("no flood")
	}
	return await(context.WithoutCancel(ctx), self)
}

// words are what the test told this child.
var words struct {
	sync.Mutex
	said map[string]chan struct{}
}

// word returns a channel that is closed when the test tells the word.
func word(w string) chan struct{} {
	words.Lock()
	defer words.Unlock()
	if words.said == nil {
		words.said = map[string]chan struct{}{}
	}
	c, ok := words.said[w]
	if !ok {
		c = make(chan struct{})
		words.said[w] = c
	}
	return c
}

func heard(w string) {
	c := word(w)
	select {
	case <-c:
	default:
		close(c)
	}
}

func await(ctx context.Context, self Self) error {
	process.Say("blocked %s %d %d", short(self), self.Event.Seq, self.Meta.Attempt)
	select {
	case <-word(fmt.Sprintf("go %d", self.Event.Seq)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
