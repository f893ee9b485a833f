package mapping

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tidings-go/tidings/persistence/schema"
)

// Code is what an enum can be: a named string or integer type.
type Code interface {
	~string | ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// enum is a type with a declared set of values, each with its code.
type enum struct {
	code  func(v reflect.Value) (string, bool)
	value func(code string, v reflect.Value) bool
	codes []string // sorted
}

// Enum registers T as an enum: its values are stored as the texts in codes, and
// no others can be stored. The codes, not the constants' names or numbers, are
// what stored rows hold: rename and renumber constants freely, keep the codes. A
// code that is added or removed is a change of the schema.
func Enum[T Code](codes map[T]string) Registration {
	values := make(map[string]T, len(codes))
	for value, code := range codes {
		values[code] = value
	}
	codes = maps.Clone(codes)
	e := &enum{codes: slices.Sorted(maps.Keys(values))}
	e.code = func(v reflect.Value) (string, bool) {
		code, ok := codes[*pointer(v).(*T)]
		return code, ok
	}
	e.value = func(code string, v reflect.Value) bool {
		value, ok := values[code]
		*pointer(v).(*T) = value
		return ok
	}
	n := Registration{typ: reflect.TypeFor[T](), enum: e}
	n.problem = named(n.typ)
	switch {
	case n.problem != nil:
	case len(codes) == 0:
		n.problem = errors.New("no codes")
	case len(values) != len(codes):
		n.problem = errors.New("two values have the same code")
	default:
		n.problem = e.check()
	}
	return n
}

func (e *enum) check() error {
	for _, code := range e.codes {
		if err := checkText(code); err != nil {
			return fmt.Errorf("code %q: %w", code, err)
		}
	}
	return nil
}

func (e *enum) kind() kind {
	literals := make([]string, len(e.codes))
	for i, code := range e.codes {
		literals[i] = schema.Literal(code)
	}
	return kind{
		column: "text",
		check: func(column string) string {
			return schema.Quote(column) + " IN (" + strings.Join(literals, ", ") + ")"
		},
		wayOut: "add it to the codes of persistence.Enum",
		put: func(v reflect.Value) (any, error) {
			code, ok := e.code(v)
			if !ok {
				return nil, fmt.Errorf("%.60q is no declared value of %s", fmt.Sprint(plainValue(v)), v.Type())
			}
			return code, nil
		},
		get: func(stored any, v reflect.Value) error {
			code, err := asString(stored)
			if err != nil {
				return err
			}
			if !e.value(code, v) {
				return fmt.Errorf("%.60q is no code of %s", code, v.Type())
			}
			return nil
		},
	}
}

// plainValue is the value without the methods of its type: String of an enum may
// not know it.
func plainValue(v reflect.Value) any {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	}
	return v.String()
}
