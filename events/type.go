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
// listener subscribes: for the record, for listeners to come, and for History.
func Recorded() TypeOption {
	return func(t *Type) { t.recorded = true }
}

// Mapped sets how the event's fields map to columns, such as
// persistence.Column("Path.To.Field", "shorter") for a name of over 63 bytes.
func Mapped(opts ...mapping.Option) TypeOption {
	return func(t *Type) { t.mapping = append(t.mapping, opts...) }
}

// Indexed adds an index for History.List in this order. Without it a list reads
// the whole table; with it every emit writes one more entry, so it is for types
// whose history is long and often read.
func Indexed(by Order) TypeOption {
	return func(t *Type) {
		if !by.known() {
			t.decl.Problems = append(t.decl.Problems, fmt.Errorf("events.Indexed: %w", by.unknown()))
			return
		}
		t.indexes = append(t.indexes, by)
	}
}

// Type is a declared event type. It is immutable and shared by all apps of a
// process; how an app stores it is in the app's Plans.
type Type struct {
	decl     access.Declaration
	recorded bool
	mapping  []mapping.Option
	indexes  []Order
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
	}
	return t
}

// Declaration describes the type; it must not be changed.
func (t *Type) Declaration() *access.Declaration { return &t.decl }

// IsRecorded says whether the type was declared Recorded.
func (t *Type) IsRecorded() bool { return t.recorded }

var errNotDeclared = errors.New("its type is not declared as an event of this app")
