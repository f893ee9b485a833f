package maptest

import (
	"math"
	"math/big"
	"reflect"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

// filler sets values to anything that their types can hold. For a chain it leaves
// nothing nil or empty on the way, and notes which rows of the table it met at
// depth three.
type filler struct {
	t     *rapid.T
	full  bool // nothing nil or empty
	key   bool // inside a key
	depth int
	met   map[string]bool
}

// Fill sets an addressable value.
func Fill(t *rapid.T, v reflect.Value) { (&filler{t: t}).fill(v) }

func (f *filler) fill(v reflect.Value) {
	v = open(v)
	f.meet(v)
	if f.special(v) || f.number(v) {
		return
	}
	f.depth++
	defer func() { f.depth-- }()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(f.t, "bool"))
	case reflect.String:
		v.SetString(genText(f.t))
	case reflect.Slice:
		f.slice(v)
	case reflect.Map:
		f.mapping(v)
	case reflect.Array:
		copy(v.Bytes(), rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(f.t, "uuid"))
	case reflect.Pointer:
		if !f.none() {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
		panic(v.Type())
	}
}

// none says whether an optional value shall be absent.
func (f *filler) none() bool { return !f.full && rapid.Bool().Draw(f.t, "nil") }

func (f *filler) length(most int) int {
	least := 0
	if f.full {
		least = 1
	}
	return rapid.IntRange(least, most).Draw(f.t, "length")
}

func (f *filler) slice(v reflect.Value) {
	if f.none() {
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 && v.Type().Elem() != reflect.TypeFor[Bits]() {
		v.SetBytes(append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(f.t, "bytes")...))
		return
	}
	n := f.length(3)
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.fill(v.Index(i))
	}
}

func (f *filler) mapping(v reflect.Value) {
	if f.none() {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range f.length(3) {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		inner := *f
		inner.key = true
		inner.fill(key)
		f.fill(value)
		v.SetMapIndex(key, value)
	}
}

func (f *filler) number(v reflect.Value) bool {
	switch {
	case v.CanInt():
		shift := 64 - v.Type().Bits()
		v.SetInt(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})).Draw(f.t, "int") >> shift)
	case v.CanUint():
		shift := 64 - v.Type().Bits()
		v.SetUint(rapid.OneOf(rapid.Uint64(), rapid.Just(uint64(math.MaxUint64))).Draw(f.t, "uint") >> shift)
	case v.Kind() == reflect.Float32:
		v.SetFloat(float64(math.Float32frombits(rapid.Uint32().Draw(f.t, "float32"))))
	case v.Kind() == reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Uint64(), math.Float64frombits)).Draw(f.t, "float64"))
	default:
		return false
	}
	return true
}

// special fills the types that are not what their kind says.
func (f *filler) special(v reflect.Value) bool {
	if v.Type().ConvertibleTo(reflect.TypeFor[time.Time]()) {
		at := genTime(f.t)
		if f.key && rapid.IntRange(0, 20).Draw(f.t, "utc") > 0 {
			at = at.UTC()
		}
		v.Set(reflect.ValueOf(at).Convert(v.Type()))
		return true
	}
	var value any
	switch v.Interface().(type) {
	case big.Int:
		v.Addr().Interface().(*big.Int).Set(genBig(f.t))
		return true
	case decimal.Decimal:
		value = genDecimal(f.t)
	case Color:
		value = rapid.OneOf(rapid.SampledFrom([]Color{Green, Red, Blue}), rarely(Color(100), Red)).Draw(f.t, "color")
	case Mode:
		value = rapid.OneOf(rapid.SampledFrom([]Mode{"", "fast", "slow"}), rarely(Mode("FAST"), "slow")).Draw(f.t, "mode")
	case Bits:
		value = rapid.SampledFrom([]Bits{1, 2}).Draw(f.t, "bits")
	case Money:
		value = Money{genDecimal(f.t), rapid.SampledFrom([]string{"EUR", "USD", "é1"}).Draw(f.t, "currency")}
	case SKU:
		value = SKU{genText(f.t), rapid.Int().Draw(f.t, "number")}
		if number := value.(SKU).number; number < 0 {
			value = SKU{value.(SKU).line, -(number + 1)}
		}
	case Route:
		f.route(v.Addr().Interface().(*Route))
		return true
	default:
		if v.Type() != reflect.TypeFor[Shape]() {
			return false
		}
		if f.none() {
			return true
		}
		value = circle{rapid.Float64().Draw(f.t, "radius")}
	}
	v.Set(reflect.ValueOf(value))
	return true
}

// rarely generates value once in a while, and else usual.
func rarely[T any](value, usual T) *rapid.Generator[T] {
	return rapid.Map(rapid.IntRange(0, 60), func(n int) T {
		if n == 1 {
			return value
		}
		return usual
	})
}

func (f *filler) route(r *Route) {
	row := routeRow{}
	inner := &filler{t: f.t, full: f.full}
	inner.fill(reflect.ValueOf(&row).Elem())
	*r = Route{row.Stops, row.Fees, row.Maybe}
}
