//go:build unix

// Package lab is a small app for tests of the delivery, run by nodes in the test
// itself and by child processes: one event, an action that publishes it, and
// listeners whose behaviour the event orders.
package lab

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/delivery/oracle"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/usecase"
)

// Event is the identity of Task.
const Event = "lab.delivery.Task"

// Task is the event. Do orders what listeners do with it; see Behaviours. Only,
// if set, is the one listener that the order is for: others write their effect.
type Task struct {
	Seq  int64
	Do   string
	Only string
}

// old says that this process has the rules of before "new" was allowed.
var old atomic.Bool

// Validate holds the rule that an old process does not know to be changed.
func (t Task) Validate() error {
	if t.Do == "new" && old.Load() {
		return errors.New("no such order")
	}
	return nil
}

// Publish publishes tasks in one transaction.
type Publish struct{ Tasks []Task }

// Self is what a listener of the lab gets.
type Self = events.Self[Task, struct{}]

// Listener is one deferred listener; zero fields mean the kernel's defaults.
type Listener struct {
	Name          string
	MaxAttempts   int
	First, Longer time.Duration // backoff
	TimeLimit     time.Duration
	Isolation     sql.IsolationLevel
	Group         int // first attempts in groups of up to so many
	// Run is what the listener does; nil: what the event orders. It does not
	// reach a child.
	Run func(context.Context, Self) error `json:"-"`
}

// Plan is one process of the lab. It travels to a child as JSON.
type Plan struct {
	Listeners []Listener
	Delivery  delivery.Config
	// Connections bounds the pool; 0 is what delivery needs and ten.
	Connections int
	PublishOnly bool
	// Driver is the driver of the pool: "postgres" (lib/pq) or "pgx"; empty: that of
	// the way of the run, see wayEnv.
	Driver string
	// PgBouncer says that the database's URL leads through a PgBouncer, as it does
	// by some ways of the run.
	PgBouncer bool
	// Listen is where to LISTEN for other processes; empty polls only.
	Listen string
	// Old has the process refuse, as of today's rules, tasks that order "new".
	Old bool
	// Relay adds a listener that emits an Echo for every task, and one of those.
	Relay bool
	// Tame has listeners write their effect whatever the event orders.
	Tame bool
	// More are further options of the app; they do not reach a child.
	More []fx.Option `json:"-"`
	// Extension names what a child's own main adds to the plan.
	Extension string
}

// Identity is the identity of a listener of the lab.
func Identity(name string) string { return "lab.delivery." + name }

// Spec is what the oracle is to expect of the plan's listeners.
func (p Plan) Spec() oracle.Spec {
	var all []string
	for _, l := range p.Listeners {
		all = append(all, Identity(l.Name))
	}
	spec := oracle.Spec{Subscribers: map[string][]string{Event: all}}
	if p.Relay {
		spec.Subscribers[Event] = append(all, Identity("Relay"))
		spec.Subscribers[EchoEvent] = []string{Identity("Hear")}
	}
	return spec
}

func (p Plan) encode() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Module is the app.
func (p Plan) Module() fx.Option {
	all := []fx.Option{
		events.Declare[Task](Event, events.Recorded()),
		usecase.DeclareAction("lab.delivery.Publish", publish),
	}
	for _, l := range p.Listeners {
		all = append(all, events.Deferred(Identity(l.Name), p.run(l), l.options()...))
	}
	all = append(all, p.More...)
	if p.Relay {
		all = append(all, relay()...)
	}
	if p.PgBouncer {
		all = append(all, kernel.PgBouncer())
	}
	if p.Listen != "" {
		all = append(all, kernel.Listen(p.Listen))
	}
	if p.PublishOnly {
		all = append(all, kernel.PublishOnly())
	}
	return kernel.Module("lab.delivery", all...)
}

func (l Listener) options() []events.ListenerOption {
	var all []events.ListenerOption
	if l.MaxAttempts > 0 {
		all = append(all, events.MaxAttempts(l.MaxAttempts))
	}
	if l.First > 0 {
		all = append(all, events.Backoff(l.First, max(l.First, l.Longer)))
	}
	if l.Isolation != sql.LevelDefault {
		all = append(all, events.Isolation(l.Isolation))
	}
	if l.TimeLimit > 0 {
		all = append(all, events.TimeLimit(l.TimeLimit))
	}
	if l.Group > 0 {
		all = append(all, events.Grouped(l.Group))
	}
	return all
}

func (p Plan) run(l Listener) func(context.Context, Self) error {
	switch {
	case l.Run != nil:
		return l.Run
	case p.Tame:
		return func(ctx context.Context, self Self) error {
			announce(self)
			return Effect(ctx, self)
		}
	default:
		return Obey
	}
}

type publishDeps struct{ Task events.Emitter[Task] }

func publish(ctx context.Context, self access.Self[Publish, publishDeps]) error {
	for _, task := range self.Input.Tasks {
		if err := Emit(ctx, self.Deps.Task, self.Tx, task); err != nil {
			return err
		}
	}
	return nil
}
