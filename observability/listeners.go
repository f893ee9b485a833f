package observability

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
)

// BusOptions has a bus report to the instruments, and store the trace context of
// publishers with their events.
func (i *Instruments) BusOptions() []events.BusOption {
	return []events.BusOption{
		events.Observe(func(e events.Emitted) { i.counters.emitted.WithLabelValues(e.Type).Inc() }),
		events.AroundSync(i.aroundSync),
		events.Traced(traceText),
	}
}

// aroundSync measures and traces a synchronous listener.
func (i *Instruments) aroundSync(ctx context.Context, d *access.Declaration, event uuid.UUID) (context.Context, func(error)) {
	started := time.Now()
	ctx, span := i.tracer.Start(ctx, d.Identity)
	if span.IsRecording() {
		span.SetAttributes(attribute.String("tidings.listener", d.Identity), attribute.String("tidings.event.id", event.String()))
	}
	return ctx, func(err error) {
		i.counters.syncDuration.WithLabelValues(d.Identity).Observe(time.Since(started).Seconds())
		endSpan(span, string(callOutcome(err)), err)
	}
}

var _ delivery.Observer = (*Instruments)(nil)

// Started measures and traces an attempt. Its span is the root of a trace of its
// own, linked to the publisher's: it may run hours later, and several listeners
// and attempts follow from one emit.
func (i *Instruments) Started(ctx context.Context, a delivery.Attempt) (context.Context, func(delivery.Outcome, error)) {
	listener := a.Listener.Identity
	i.counters.startDelay.WithLabelValues(listener).Observe(a.Delay.Seconds())
	opts := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer)}
	if publisher := spanContext(a.Trace); publisher.IsValid() {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: publisher}))
	}
	started := time.Now()
	ctx, span := i.tracer.Start(ctx, listener, opts...)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("tidings.listener", listener), attribute.String("tidings.event", a.EventType),
			attribute.String("tidings.event.id", a.EventID.String()), attribute.String("tidings.correlation", a.Correlation),
			attribute.Int64("tidings.job", a.Job), attribute.Int("tidings.attempt", a.Attempt), attribute.Int("tidings.replay", a.Replay),
		)
	}
	return ctx, func(o delivery.Outcome, err error) {
		i.counters.duration.WithLabelValues(listener).Observe(time.Since(started).Seconds())
		i.Unstarted(listener, o)
		endSpan(span, string(o), err)
	}
}

// Unstarted counts the outcome of a job whose listener was not started.
func (i *Instruments) Unstarted(listener string, o delivery.Outcome) {
	i.counters.attempts.WithLabelValues(listener, string(o)).Inc()
	if o == delivery.OutcomeFenced {
		i.counters.fenced.Inc()
	}
}

// LeasesLost counts jobs that this process took back.
func (i *Instruments) LeasesLost(jobs int) { i.counters.leaseLosses.Add(float64(jobs)) }
