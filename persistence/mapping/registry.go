package mapping

import (
	"errors"
	"fmt"
	"reflect"
)

// Registration says how the values of one type are stored: by a codec or as an
// enum. It never changes, so apps may share it; each app has its own [Registry].
type Registration struct {
	// Source is where the app registers it, for errors; may be empty.
	Source  string
	typ     reflect.Type
	codec   *codec
	enum    *enum
	problem error
}

func (r Registration) what() string {
	if r.enum != nil {
		return "enum"
	}
	return "codec"
}

// String names the registration and its place.
func (r Registration) String() string {
	text := fmt.Sprintf("%s of %v", r.what(), r.typ)
	if r.Source != "" {
		text += " (" + r.Source + ")"
	}
	return text
}

// Registry is the registrations of one app. It never changes and is safe for
// concurrent use. A nil registry is empty.
type Registry struct{ types map[reflect.Type]Registration }

// NewRegistry returns a registry; the order of registrations means nothing. The
// error joins all problems, each with its source and wrapping [ErrType]: what is
// wrong with a registration, and a type that is registered twice.
func NewRegistry(registrations ...Registration) (*Registry, error) {
	r := &Registry{types: map[reflect.Type]Registration{}}
	var problems []error
	for _, n := range registrations {
		switch first, twice := r.types[n.typ]; {
		case n.problem != nil:
			problems = append(problems, fmt.Errorf("%s: %w: %w", n, ErrType, n.problem))
		case twice:
			problems = append(problems, fmt.Errorf("%s: %w: its type is already that of the %s; keep one", n, ErrType, first))
		default:
			r.types[n.typ] = n
		}
	}
	return r, errors.Join(problems...)
}

func (r *Registry) find(t reflect.Type) *Registration {
	if r == nil {
		return nil
	}
	n, ok := r.types[t]
	if !ok {
		return nil
	}
	return &n
}

// named refuses types that everything uses: a registration for string would
// change every text.
func named(t reflect.Type) error {
	if t.PkgPath() == "" && t.Kind() != reflect.Pointer {
		return fmt.Errorf("%v is no type of its own; declare a named one", t)
	}
	return nil
}
