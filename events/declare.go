package events

import (
	"reflect"

	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
)

// Declare declares the event type T under its identity, a namespace and a name
// joined by a dot, and provides its emitter, Emitter[T], and its history,
// History[T]. The namespace is the schema of the event's tables, the identity is
// what stored events are known by: the Go type may be renamed freely. Mistakes,
// such as a field that cannot be stored, are reported at boot, all together, with
// the place of this call.
func Declare[T any](identity string, opts ...TypeOption) access.Option {
	t := newType(access.Declaration{
		Kind: access.KindEvent, Identity: identity, Source: access.Caller(0), Input: reflect.TypeFor[T](),
	}, opts)
	o := access.Declare(t, connectEmitter[T])
	o.Option = fx.Options(o.Option, fx.Provide(connectHistory[T]))
	return o
}
