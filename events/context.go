package events

import (
	"context"

	"github.com/google/uuid"
)

// cause is what the events emitted on a context follow from.
type cause struct {
	correlation string
	causation   uuid.UUID
	depth       int
}

type causeKey struct{}

func causeOf(ctx context.Context) cause {
	c, _ := ctx.Value(causeKey{}).(cause)
	return c
}

func withCause(ctx context.Context, c cause) context.Context {
	return context.WithValue(ctx, causeKey{}, c)
}

// WithCorrelation returns a context on which emitted events carry this
// correlation, such as the id of the request they follow from. Listeners hand it
// on by themselves.
func WithCorrelation(ctx context.Context, correlation string) context.Context {
	c := causeOf(ctx)
	c.correlation = correlation
	return withCause(ctx, c)
}
