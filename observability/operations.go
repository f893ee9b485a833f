package observability

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

// CallOutcome is how a call of a usecase ended.
type CallOutcome string

// The outcomes of calls.
const (
	CallOK      CallOutcome = "ok"
	CallInvalid CallOutcome = "invalid" // a Validate check refused the input
	CallError   CallOutcome = "error"
	CallPanic   CallOutcome = "panic"
	CallUnknown CallOutcome = "unknown" // whether the commit went through is not known
)

var errGoexit = errors.New("the operation ended its goroutine")

// callOutcome classifies err. Looking at an app's error runs its methods, which
// may panic.
func callOutcome(err error) CallOutcome {
	o := CallError
	_ = access.Protect(func() error {
		var p *access.PanicError
		switch {
		case err == nil:
			o = CallOK
		case errors.Is(err, usecase.ErrInvalid):
			o = CallInvalid
		case errors.Is(err, persistence.ErrUnknownOutcome):
			o = CallUnknown
		case errors.As(err, &p), errors.Is(err, errGoexit):
			o = CallPanic
		}
		return nil
	})
	return o
}

// Operation returns op, an operation of the runtime declared by d, with a span
// and, where d is a usecase or an action, its duration around it.
func (i *Instruments) Operation(d *access.Declaration, op access.Operation) access.Operation {
	measured := d.Kind == access.KindUsecase || d.Kind == access.KindAction
	name, kind := spanName(d), trace.SpanKindInternal
	if d.Kind == access.KindEvent {
		kind = trace.SpanKindProducer
	}
	attributes := []attribute.KeyValue{attribute.String("tidings."+d.Kind.String(), d.Identity)}
	return func(ctx context.Context, in any) (out any, err error) {
		started := time.Now()
		ctx, span := i.tracer.Start(ctx, name, trace.WithSpanKind(kind))
		if span.IsRecording() {
			span.SetAttributes(attributes...)
		}
		err = errGoexit // unless it returns
		defer func() {
			outcome := callOutcome(err)
			if measured {
				i.counters.usecases.WithLabelValues(d.Identity, string(outcome)).Observe(time.Since(started).Seconds())
			}
			endSpan(span, string(outcome), err)
		}()
		return op(ctx, in)
	}
}

func spanName(d *access.Declaration) string {
	if d.Kind == access.KindEvent {
		return "emit " + d.Identity
	}
	return d.Identity
}
