package observability

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidings-go/tidings/access"
)

// w3c writes and reads the W3C trace context. What is stored must be readable by
// any process of any version, so it does not follow the global propagator.
var w3c propagation.TraceContext

const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// traceText returns the trace context of ctx as it is stored: traceparent and,
// after a space, tracestate if there is any; "" where nothing traces.
func traceText(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return strings.TrimSpace(carrier[traceParent] + " " + carrier[traceState])
}

// spanContext reads what traceText wrote; it is invalid where that cannot be
// read.
func spanContext(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	parent, state, _ := strings.Cut(text, " ")
	ctx := w3c.Extract(context.Background(), propagation.MapCarrier{traceParent: parent, traceState: state})
	return trace.SpanContextFromContext(ctx)
}

// endSpan ends a span with its outcome. The error's text is recorded: keep
// secrets out of errors.
func endSpan(span trace.Span, outcome string, err error) {
	if span.IsRecording() {
		span.SetAttributes(attribute.String("tidings.outcome", outcome))
		if err != nil {
			span.SetStatus(codes.Error, outcome)
			_ = access.Protect(func() error { span.RecordError(err); return nil })
		}
	}
	span.End()
}
