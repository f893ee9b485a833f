package events

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
)

// Emitted is one emitted event, as an observer sees it after the commit.
type Emitted struct {
	ID    uuid.UUID
	Type  string
	Event any
}

// Observe has f called for every emitted event whose transaction committed, once
// for every Observe that is given.
func Observe(f func(Emitted)) BusOption {
	return func(b *Bus) { b.observers = append(b.observers, f) }
}

// AroundSync has around called before every run of a synchronous listener. The
// listener runs on the context that it returns, which must be derived from the
// given one; the returned function is called when the listener has ended, with
// its error. It is called on the publisher's path: it must be quick.
func AroundSync(around func(ctx context.Context, listener *access.Declaration, event uuid.UUID) (context.Context, func(error))) BusOption {
	return func(b *Bus) { b.around = around }
}

// Traced has the text that trace makes of an emit's context stored with the
// event, as the trace context of its publisher; "" stores none. It takes no part
// in the comparison of two events of the same identity.
func Traced(trace func(context.Context) string) BusOption {
	return func(b *Bus) { b.trace = trace }
}

var errGoexit = errors.New("a synchronous listener ended its goroutine")

// runOne runs a synchronous listener with what observers want around it.
func (b *Bus) runOne(ctx context.Context, s *Subscriber, tx access.Tx, event any, meta Meta) (err error) {
	if b.around != nil {
		err = errGoexit // unless it returns
		inner, end := b.around(ctx, &s.Listener.decl, meta.EventID)
		ctx = inner
		defer func() { end(err) }()
	}
	return s.run(ctx, tx, event, meta)
}

// traceOf returns what is stored as the trace context of an emit on ctx.
func (b *Bus) traceOf(ctx context.Context) string {
	if b.trace == nil {
		return ""
	}
	if text := b.trace(ctx); checkText(text) == nil {
		return text
	}
	return ""
}
