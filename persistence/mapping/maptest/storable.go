package maptest

import (
	"math"
	"math/big"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// Storable tells, apart from package mapping, whether all of a value may be
// stored.
func Storable(v any) bool { return storable(clone(reflect.ValueOf(v)), false) }

func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func storable(v reflect.Value, key bool) bool {
	if ok, known := storableSpecial(v, key); known {
		return ok
	}
	switch v.Kind() {
	case reflect.String:
		return isText(v.String())
	case reflect.Float32, reflect.Float64:
		return !key || !math.IsNaN(v.Float())
	case reflect.Pointer:
		return v.IsNil() || storable(v.Elem(), key)
	case reflect.Slice:
		for i := range v.Len() {
			if !storable(v.Index(i), key) {
				return false
			}
		}
	case reflect.Map:
		for iter := open(v).MapRange(); iter.Next(); {
			if !storable(clone(iter.Key()), true) || !storable(clone(iter.Value()), key) {
				return false
			}
		}
	case reflect.Struct:
		if v.NumField() == 2 && v.Type().Field(1).Name == "Valid" && !v.Field(1).Bool() {
			return true
		}
		for i := range v.NumField() {
			if !storable(v.Field(i), key) {
				return false
			}
		}
	}
	return true
}

func storableSpecial(v reflect.Value, key bool) (ok, known bool) {
	if v.Type().ConvertibleTo(reflect.TypeFor[time.Time]()) {
		at := open(v).Convert(reflect.TypeFor[time.Time]()).Interface().(time.Time)
		year, zone := at.UTC().Year(), at.Location().String()
		if key && zone != "UTC" {
			return false, true
		}
		return year >= -4712 && year <= 294275 && isText(zone), true
	}
	switch value := open(v).Interface().(type) {
	case big.Int:
		return true, true
	case decimal.Decimal:
		digits := len(strings.TrimPrefix(value.Coefficient().String(), "-"))
		return value.IsZero() || value.Exponent() >= -16383 && digits+int(value.Exponent()) <= 131072, true
	case Color:
		return value >= Green && value <= Blue, true
	case Mode:
		return value == "" || value == "fast" || value == "slow", true
	case Money:
		ok, _ := storableSpecial(clone(reflect.ValueOf(value.amount)), false)
		return len(value.currency) == 3 && ok, true
	}
	return false, false
}
