package mapping

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// embeddedValidator returns the field that embeds a pointer whose Validate could
// become the struct's own. Reflection cannot tell a promoted method from a
// declared one.
func embeddedValidator(t reflect.Type) string {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous && field.Type.Kind() == reflect.Pointer && field.Type.Implements(validatorType) {
			return field.Name
		}
	}
	return ""
}

func kindOf(t reflect.Type) (kind, bool) {
	if k, ok := integers[t.Kind()]; ok {
		return k, true
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolean, true
	case reflect.Float32:
		return float("real", 32), true
	case reflect.Float64:
		return float("double precision", 64), true
	case reflect.String:
		return text, true
	case reflect.Slice:
		return bytea, t.Elem().Kind() == reflect.Uint8
	case reflect.Array:
		return identifier, t.Elem().Kind() == reflect.Uint8 && t.Len() == 16
	}
	return kind{}, false
}

// isTime accepts time.Time and named types over it.
func isTime(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.ConvertibleTo(timeType)
}

// isNull accepts sql.Null[T], its older relatives, uuid.NullUUID and
// decimal.NullDecimal: a value and a Valid flag.
func isNull(t reflect.Type) bool {
	if t == reflect.TypeFor[uuid.NullUUID]() || t == reflect.TypeFor[decimal.NullDecimal]() {
		return true
	}
	return t.Kind() == reflect.Struct && t.PkgPath() == "database/sql" && strings.HasPrefix(t.Name(), "Null") &&
		t.NumField() == 2 && t.Field(1).Name == "Valid" && t.Field(1).Type.Kind() == reflect.Bool
}

func describe(t reflect.Type) string {
	if t.Name() == "" || t.PkgPath() == "" || t.PkgPath() == "unsafe" {
		return t.String()
	}
	return fmt.Sprintf("%s (a %s)", t, t.Kind())
}

// hiddenFields lists the fields that reflection may not set. The exported fields
// of an embedded unexported struct it may.
func (b *builder) hiddenFields(t reflect.Type) []string {
	var hidden []string
	for i := range t.NumField() {
		field := t.Field(i)
		embedded := field.Anonymous && field.Type.Kind() == reflect.Struct && b.registry.find(field.Type) == nil &&
			b.simple(field.Type, place{}) == nil && !isNull(field.Type)
		if !field.IsExported() && !embedded && field.Name != "_" {
			hidden = append(hidden, field.Name)
		}
	}
	return hidden
}
