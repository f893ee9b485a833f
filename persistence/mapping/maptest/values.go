package maptest

import (
	"math/big"
	"reflect"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

func genText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringN(0, 10, -1),
		rapid.StringOfN(rapid.RuneFrom([]rune("'\"\\$1%\n é😀\ufffd{},")), 0, 10, -1),
		rapid.SampledFrom([]string{"NULL", "{}", `\x00`, "null", "", " ", `"`, `\`}),
		rapid.StringN(0, 10, -1),
		rapid.Map(rapid.SliceOfN(rapid.ByteRange(0, 255), 0, 1), func(b []byte) string { return string(b) }),
	).Draw(t, "text")
}

func genTime(t *rapid.T) time.Time {
	at := time.Unix(
		rapid.OneOf(rapid.Int64Range(-210866700000, 9224286350000), rapid.Int64Range(-62167219200-1e9, -62167219200+1e9), rapid.Int64Range(-1e10, 1e10)).Draw(t, "second"),
		rapid.OneOf(rapid.Int64Range(0, 999_999_999), rapid.SampledFrom([]int64{1, 499, 500, 999, 999_999_500, 999_999_999})).Draw(t, "nanosecond"))
	name := rapid.SampledFrom([]string{"UTC", "Local", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "Africa/Monrovia", ""}).Draw(t, "zone")
	if name == "" {
		return at.In(time.FixedZone(genText(t), rapid.IntRange(-90000, 90000).Draw(t, "offset")))
	}
	return at.In(zone(name))
}

func zone(name string) *time.Location {
	location, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return location
}

func genBig(t *rapid.T) *big.Int {
	digits := rapid.OneOf(rapid.StringMatching(`-?[1-9][0-9]{0,40}`), rapid.SampledFrom([]string{"0", "-1", "18446744073709551616"})).Draw(t, "digits")
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		panic(digits)
	}
	return n
}

func genDecimal(t *rapid.T) decimal.Decimal {
	if rapid.IntRange(0, 9).Draw(t, "zero") == 0 {
		return decimal.Decimal{}
	}
	return decimal.NewFromBigInt(genBig(t), rapid.OneOf(rapid.Int32Range(-30, 30), rapid.SampledFrom([]int32{-16383, -16384, 131000})).Draw(t, "exponent"))
}

// meet notes the row of the table that a value at depth three belongs to.
func (f *filler) meet(v reflect.Value) {
	if f.met == nil || f.depth != chainDepth {
		return
	}
	for _, row := range Table {
		for _, typ := range row.Types {
			if typ == v.Type() {
				f.met[row.Name] = true
				return
			}
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		f.met["*T"] = true
	case reflect.Slice:
		f.met["[]T"] = true
	case reflect.Map:
		if v.Type().Elem() == reflect.TypeFor[struct{}]() {
			f.met["map[T]struct{}"] = true
		} else {
			f.met["map[K]V"] = true
		}
	}
}
