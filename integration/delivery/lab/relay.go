//go:build unix

package lab

import (
	"context"
	"os"

	"github.com/google/uuid"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/delivery/oracle"
)

// EchoEvent is the identity of Echo.
const EchoEvent = "lab.delivery.Echo"

// Echo is what the listener Relay emits for every task.
type Echo struct{ Seq int64 }

// relay is a listener of tasks that emits, and a listener of what it emits.
func relay() []fx.Option {
	type relayDeps struct{ Echo events.Emitter[Echo] }
	type none struct{}
	return []fx.Option{
		events.Declare[Echo](EchoEvent),
		events.Deferred(Identity("Relay"), func(ctx context.Context, self events.Self[Task, relayDeps]) error {
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			if err := self.Tx.ExecOne(ctx, oracle.Publication, id, EchoEvent); err != nil {
				return err
			}
			if err := self.Deps.Echo.Emit(ctx, Echo{self.Event.Seq}, events.ID(id)); err != nil {
				return err
			}
			return Effect(ctx, Self{Meta: self.Meta, Tx: self.Tx})
		}),
		events.Deferred(Identity("Hear"), func(ctx context.Context, self events.Self[Echo, none]) error {
			return self.Tx.ExecOne(ctx, oracle.Effect, self.Meta.EventID, self.Meta.Listener, self.Meta.Attempt, os.Getpid())
		}),
	}
}
