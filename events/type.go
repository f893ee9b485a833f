package events

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence/mapping"
)

// TypeOption sets a property of a declared event type.
type TypeOption func(*Type)

// Recorded declares that events of the type are stored even if no deferred
// listener subscribes: for the record, and for listeners to come.
func Recorded() TypeOption {
	return func(t *Type) { t.recorded = true }
}

// Mapped sets how the event's fields map to columns, such as
// mapping.Column("Path.To.Field", "shorter") for a name of over 63 bytes.
func Mapped(opts ...mapping.Option) TypeOption {
	return func(t *Type) { t.mapping = append(t.mapping, opts...) }
}

// Type is a declared event type. It is immutable and shared by all apps of a
// process.
type Type struct {
	decl     access.Declaration
	recorded bool
	mapping  []mapping.Option
	plan     *mapping.Plan
}

// Declare declares the event type T under its identity, a namespace and a name
// joined by a dot, and provides its emitter, Emitter[T]. The namespace is the
// schema of the event's table, the identity is what stored events are known by:
// the Go type may be renamed freely. Mistakes, such as a field that cannot be
// stored, are reported at boot, all together, with the place of this call.
func Declare[T any](identity string, opts ...TypeOption) access.Option {
	t := newType(access.Declaration{
		Kind: access.KindEvent, Identity: identity, Source: access.Caller(0), Input: reflect.TypeFor[T](),
	}, opts)
	return access.Declare(t, connectEmitter[T])
}

func newType(decl access.Declaration, opts []TypeOption) *Type {
	t := &Type{decl: decl}
	for _, o := range opts {
		if o != nil {
			o(t)
		}
	}
	if decl.Input.Kind() != reflect.Struct {
		t.decl.Problems = append(t.decl.Problems, fmt.Errorf("an event is a plain struct, not %v", decl.Input))
		return t
	}
	plan, err := mapping.NewPlan(decl.Input, append(t.mapping, mapping.Reserved(eventID))...)
	if err != nil {
		t.decl.Problems = append(t.decl.Problems, err)
	}
	t.plan = plan
	return t
}

// Declaration describes the type; it must not be changed.
func (t *Type) Declaration() *access.Declaration { return &t.decl }

// IsRecorded says whether the type was declared Recorded.
func (t *Type) IsRecorded() bool { return t.recorded }

var errNotDeclared = errors.New("its type is not declared as an event of this app")
