package mapping

import (
	"errors"
	"math"
	"reflect"
)

// keyMode says whether the builder is inside the key of a map or set. Keys are
// compared by Go with == and by PostgreSQL in an index: only types where both
// agree, and where a value that comes back equals the one that went, can be keys.
type keyMode int

const (
	noKey    keyMode = iota
	keyValue         // a key or a part of it, as Go compares it
	keyStore         // the representation of one, which only PostgreSQL compares
)

// objection says why a type cannot be in a key; it is empty if it can.
func (m keyMode) objection(t reflect.Type) string {
	if m == noKey {
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer:
		if m == keyValue {
			return "and pointers compare by their address"
		}
		return "which cannot be null"
	case reflect.Slice, reflect.Map:
		return "which must be one row"
	case reflect.Struct:
		switch {
		case isNull(t):
			return "which cannot be null"
		case m == keyValue && t.ConvertibleTo(decimalType):
			return "and decimals compare by the address of their digits"
		}
	}
	return ""
}

// withoutNaN is a float that can be a key: a map finds no NaN again.
func withoutNaN(k kind) kind {
	put := k.put
	k.wayOut = "leave it out: no lookup finds it"
	k.put = func(v reflect.Value) (any, error) {
		if math.IsNaN(v.Float()) {
			return nil, errors.New("NaN as a key")
		}
		return put(v)
	}
	return k
}
