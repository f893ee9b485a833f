package maptest

import (
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// Same is the oracle: it compares two values of any type without help of package
// mapping and returns the path of the first difference, or nothing.
func Same(a, b any) string {
	return same("", clone(reflect.ValueOf(a)), clone(reflect.ValueOf(b)))
}

// clone returns an addressable copy, of which unexported fields can be read.
func clone(v reflect.Value) reflect.Value {
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	return copied
}

func open(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
}

func same(path string, a, b reflect.Value) string {
	if a.Type() != b.Type() {
		return fmt.Sprintf("%s: %s and %s", path, a.Type(), b.Type())
	}
	if equal, known := sameSpecial(a, b); known {
		if equal {
			return ""
		}
		return fmt.Sprintf("%s: %v and %v", path, open(a).Interface(), open(b).Interface())
	}
	equal := false
	switch a.Kind() {
	case reflect.Struct:
		return sameStruct(path, a, b)
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			return same(path, a.Elem(), b.Elem())
		}
		equal = a.IsNil() && b.IsNil()
	case reflect.Interface:
		if !a.IsNil() && !b.IsNil() {
			return same(path, clone(open(a).Elem()), clone(open(b).Elem()))
		}
		equal = a.IsNil() && b.IsNil()
	case reflect.Float32, reflect.Float64:
		equal = math.Float64bits(a.Float()) == math.Float64bits(b.Float()) || math.IsNaN(a.Float()) && math.IsNaN(b.Float())
	case reflect.Slice:
		return sameList(path, a, b)
	case reflect.Map:
		return sameMap(path, open(a), open(b))
	default:
		equal = a.Equal(b)
	}
	if equal {
		return ""
	}
	return fmt.Sprintf("%s: %v and %v", path, a, b)
}

func sameStruct(path string, a, b reflect.Value) string {
	isNull := a.Type().PkgPath() == reflect.TypeFor[sql.NullInt64]().PkgPath() ||
		a.Type() == reflect.TypeFor[uuid.NullUUID]() || a.Type() == reflect.TypeFor[decimal.NullDecimal]()
	if isNull && !a.Field(1).Bool() && !b.Field(1).Bool() {
		return ""
	}
	for i := range a.NumField() {
		if a.Type().Field(i).Name == "_" {
			continue
		}
		if difference := same(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); difference != "" {
			return difference
		}
	}
	return ""
}

func sameList(path string, a, b reflect.Value) string {
	if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
		return fmt.Sprintf("%s: nil %v of %d and nil %v of %d", path, a.IsNil(), a.Len(), b.IsNil(), b.Len())
	}
	if a.Type().Elem().Kind() == reflect.Uint8 && string(open(a).Bytes()) == string(open(b).Bytes()) {
		return ""
	}
	for i := range a.Len() {
		if difference := same(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); difference != "" {
			return difference
		}
	}
	return ""
}

func sameMap(path string, a, b reflect.Value) string {
	if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
		return fmt.Sprintf("%s: nil %v of %d and nil %v of %d", path, a.IsNil(), a.Len(), b.IsNil(), b.Len())
	}
	for left := a.MapRange(); left.Next(); {
		found := b.MapIndex(left.Key()) // by ==, as an app looks it up
		if !found.IsValid() {
			return fmt.Sprintf("%s[%v]: missing", path, left.Key())
		}
		for right := b.MapRange(); right.Next(); {
			if right.Key().Equal(left.Key()) { // and to the bit: 0 and -0 are one key
				if difference := same(fmt.Sprintf("%s[key %v]", path, left.Key()), clone(left.Key()), clone(right.Key())); difference != "" {
					return difference
				}
			}
		}
		if difference := same(fmt.Sprintf("%s[%v]", path, left.Key()), clone(left.Value()), clone(found)); difference != "" {
			return difference
		}
	}
	return ""
}

// sameSpecial compares the types whose fields are nobody's business.
func sameSpecial(a, b reflect.Value) (equal, known bool) {
	switch left := open(a).Interface().(type) {
	case big.Int:
		right := open(b).Interface().(big.Int)
		return left.Cmp(&right) == 0, true
	case decimal.Decimal:
		right := open(b).Interface().(decimal.Decimal)
		return left.Exponent() == right.Exponent() && left.Coefficient().Cmp(right.Coefficient()) == 0, true
	}
	if a.Kind() != reflect.Struct || !a.Type().ConvertibleTo(reflect.TypeFor[time.Time]()) {
		return false, false
	}
	left := open(a).Convert(reflect.TypeFor[time.Time]()).Interface().(time.Time)
	right := open(b).Convert(reflect.TypeFor[time.Time]()).Interface().(time.Time)
	_, leftOffset := left.Zone()
	_, rightOffset := right.Zone()
	const wall = "2006-01-02 15:04:05.999999999"
	return left.Equal(right) && left.Format(wall) == right.Format(wall) && leftOffset == rightOffset &&
		left.Location().String() == right.Location().String(), true
}
