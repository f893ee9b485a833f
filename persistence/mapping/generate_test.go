package mapping_test

import (
	"database/sql"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// leafTypes are the types from which generated structs are made.
var leafTypes = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](), reflect.TypeFor[int](),
	reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](), reflect.TypeFor[uint](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[string](), reflect.TypeFor[[]byte](), reflect.TypeFor[time.Time](),
	reflect.TypeFor[time.Duration](), reflect.TypeFor[uuid.UUID](), reflect.TypeFor[[16]byte](), reflect.TypeFor[oddID](), reflect.TypeFor[text](),
	reflect.TypeFor[count](), reflect.TypeFor[ratio](), reflect.TypeFor[blob](), reflect.TypeFor[odd](), reflect.TypeFor[day](),
	reflect.TypeFor[Address](), reflect.TypeFor[Nothing](), reflect.TypeFor[allNil](), reflect.TypeFor[deepNil](), reflect.TypeFor[struct{ base }](),
	reflect.TypeFor[sql.Null[int16]](), reflect.TypeFor[sql.Null[string]](), reflect.TypeFor[sql.Null[time.Time]](), reflect.TypeFor[sql.Null[allNil]](),
	reflect.TypeFor[sql.Null[*float32]](), reflect.TypeFor[sql.NullInt32](), reflect.TypeFor[sql.NullTime](), reflect.TypeFor[uuid.NullUUID](),
}

var genName = rapid.StringMatching(`[A-ZÄÖ][a-zA-Z0-9_éß界]{0,3}`)

func genType(t *rapid.T, depth int) reflect.Type {
	switch pick := rapid.IntRange(0, 9).Draw(t, "form"); {
	case pick < 2 && depth > 0:
		return genStruct(t, depth-1, 0)
	case pick < 4 && depth > 0:
		return reflect.PointerTo(genType(t, depth-1))
	}
	return rapid.SampledFrom(leafTypes).Draw(t, "type")
}

func genStruct(t *rapid.T, depth, least int) reflect.Type {
	var fields []reflect.StructField
	for i, name := range rapid.SliceOfNDistinct(genName, least, 6, rapid.ID[string]).Draw(t, "names") {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("%s%d", name, i), Type: genType(t, depth)})
	}
	return reflect.StructOf(fields)
}

// fill sets an addressable value to anything its type can hold.
func fill(t *rapid.T, v reflect.Value) {
	if v.Type().ConvertibleTo(reflect.TypeFor[time.Time]()) {
		v.Set(reflect.ValueOf(genTime(t)).Convert(v.Type()))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		shift := 64 - v.Type().Bits()
		v.SetInt(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})).Draw(t, "int") >> shift)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		shift := 64 - v.Type().Bits()
		v.SetUint(rapid.OneOf(rapid.Uint64(), rapid.Just(uint64(math.MaxUint64))).Draw(t, "uint") >> shift)
	case reflect.Float32:
		v.SetFloat(float64(math.Float32frombits(rapid.Uint32().Draw(t, "float32"))))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Uint64(), math.Float64frombits)).Draw(t, "float64"))
	case reflect.String:
		v.SetString(genText(t))
	case reflect.Slice:
		if !rapid.Bool().Draw(t, "nil") {
			v.SetBytes(append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")...))
		}
	case reflect.Array:
		copy(v.Bytes(), rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
	case reflect.Pointer:
		if !rapid.Bool().Draw(t, "nil") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		panic(v.Type())
	}
}

func genText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringN(0, 10, -1),
		rapid.StringOfN(rapid.RuneFrom([]rune("'\"\\$1%\n é😀\ufffd")), 0, 10, -1),
		rapid.Map(rapid.SliceOfN(rapid.ByteRange(0, 255), 0, 2), func(b []byte) string { return string(b) }),
	).Draw(t, "text")
}

func genTime(t *rapid.T) time.Time {
	at := time.Unix(
		rapid.OneOf(rapid.Int64Range(-210866900000, 9224286350000), rapid.Int64Range(-62167219200-1e9, -62167219200+1e9), rapid.Int64Range(-1e10, 1e10)).Draw(t, "second"),
		rapid.OneOf(rapid.Int64Range(0, 999_999_999), rapid.SampledFrom([]int64{1, 499, 500, 999, 999_999_500, 999_999_999})).Draw(t, "nanosecond"))
	name := rapid.SampledFrom([]string{"UTC", "Local", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "Africa/Monrovia", ""}).Draw(t, "zone")
	if name == "" {
		return at.In(time.FixedZone(genText(t), rapid.IntRange(-90000, 90000).Draw(t, "offset")))
	}
	return at.In(zone(name))
}

// storable tells, apart from the package, whether all of a value may be stored.
func storable(v reflect.Value) bool {
	if v.Type().ConvertibleTo(reflect.TypeFor[time.Time]()) {
		at := v.Convert(reflect.TypeFor[time.Time]()).Interface().(time.Time)
		year, zone := at.UTC().Year(), at.Location().String()
		return year >= -4712 && year <= 294275 && utf8.ValidString(zone) && !strings.Contains(zone, "\x00")
	}
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String()) && !strings.Contains(v.String(), "\x00")
	case reflect.Pointer:
		return v.IsNil() || storable(v.Elem())
	case reflect.Struct:
		if v.NumField() == 2 && v.Type().Field(1).Name == "Valid" && !v.Field(1).Bool() {
			return true
		}
		for i := range v.NumField() {
			if !storable(v.Field(i)) {
				return false
			}
		}
	}
	return true
}
