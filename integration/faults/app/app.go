//go:build unix

// Package app is the app under fire: the lab of integration/delivery, with a
// listener that emits another event and one that hears it, and with a publisher
// that publishes for as long as it lives and says what it was told.
package app

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/oracle"
	"github.com/tidings-go/tidings/integration/delivery/process"
)

// Identities of what the app has beside the lab.
const (
	NoteEvent = "lab.delivery.Note"
	Relay     = "lab.delivery.Relay" // hears Task, emits Note
	Keep      = "lab.delivery.Keep"  // hears Note
)

// Note is what Relay emits for each task.
type Note struct{ Seq int64 }

type relayDeps struct{ Note events.Emitter[Note] }

// extension names a plan that Relay and Keep belong to.
const extension = "faults"

// Plan adds Relay and Keep to a plan.
func Plan(p lab.Plan) lab.Plan {
	p.Extension = extension
	extend(&p)
	return p
}

// extend adds to a plan what it could not carry to a child.
func extend(p *lab.Plan) {
	if p.Extension != extension {
		return
	}
	patient := []events.ListenerOption{events.MaxAttempts(100), events.Backoff(10*time.Millisecond, time.Second), events.TimeLimit(2 * time.Second)}
	p.More = append(p.More,
		events.Declare[Note](NoteEvent, events.Recorded()),
		events.Deferred(Relay, relay, patient...),
		events.Deferred(Keep, keep, patient...),
	)
}

// Spec is what the oracle is to expect.
func Spec(p lab.Plan) oracle.Spec {
	s := p.Spec()
	s.Subscribers[lab.Event] = append(s.Subscribers[lab.Event], Relay)
	s.Subscribers[NoteEvent] = []string{Keep}
	return s
}

// relay emits a note in the transaction that acknowledges its job. It fails by
// order, as the lab's listeners do, but after it has emitted.
func relay(ctx context.Context, self events.Self[lab.Task, relayDeps]) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	if err := self.Tx.ExecOne(ctx, oracle.Publication, id, NoteEvent); err != nil {
		return err
	}
	if err := self.Deps.Note.Emit(ctx, Note{self.Event.Seq}, events.ID(id)); err != nil {
		return err
	}
	return lab.Obey(ctx, lab.Self{Event: self.Event, Meta: self.Meta, Tx: self.Tx})
}

func keep(ctx context.Context, self events.Self[Note, struct{}]) error {
	if process.Role() != "" {
		process.Say("start %s %d %d", strings.TrimPrefix(self.Meta.Listener, "lab.delivery."), self.Event.Seq, self.Meta.Attempt)
	}
	return self.Tx.ExecOne(ctx, oracle.Effect, self.Meta.EventID, self.Meta.Listener, self.Meta.Attempt, os.Getpid())
}
