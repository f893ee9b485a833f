package mapping_test

import (
	"database/sql"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/google/uuid"
)

// same is the oracle: it compares two values without help of the package and
// returns the path of the first difference, or nothing.
func same(path string, a, b reflect.Value) string {
	if a.Type() != b.Type() {
		return fmt.Sprintf("%s: %s and %s", path, a.Type(), b.Type())
	}
	if a.Kind() == reflect.Struct && a.Type().ConvertibleTo(reflect.TypeFor[time.Time]()) {
		return sameTime(path, a.Convert(reflect.TypeFor[time.Time]()).Interface().(time.Time),
			b.Convert(reflect.TypeFor[time.Time]()).Interface().(time.Time))
	}
	if a.Type().PkgPath() == reflect.TypeFor[sql.NullInt64]().PkgPath() || a.Type() == reflect.TypeFor[uuid.NullUUID]() {
		if !a.Field(1).Bool() && !b.Field(1).Bool() {
			return ""
		}
	}
	equal := false
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).Name == "_" {
				continue
			}
			if difference := same(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); difference != "" {
				return difference
			}
		}
		return ""
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			equal = a.IsNil() && b.IsNil()
			break
		}
		return same(path, a.Elem(), b.Elem())
	case reflect.Float32, reflect.Float64:
		equal = math.Float64bits(a.Float()) == math.Float64bits(b.Float()) || math.IsNaN(a.Float()) && math.IsNaN(b.Float())
	case reflect.Slice:
		equal = a.IsNil() == b.IsNil() && string(a.Bytes()) == string(b.Bytes())
	default:
		equal = a.Equal(b)
	}
	if equal {
		return ""
	}
	return fmt.Sprintf("%s: %v and %v", path, a, b)
}

func sameTime(path string, a, b time.Time) string {
	_, aOffset := a.Zone()
	_, bOffset := b.Zone()
	const wall = "2006-01-02 15:04:05.999999999"
	if a.Equal(b) && a.Format(wall) == b.Format(wall) && aOffset == bOffset && a.Location().String() == b.Location().String() {
		return ""
	}
	return fmt.Sprintf("%s: %s in %s and %s in %s", path, a, a.Location(), b, b.Location())
}
