package maptest

import (
	"database/sql"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

func dec(coefficient int64, exponent int32) decimal.Decimal {
	return decimal.New(coefficient, exponent)
}

func numberTraps() map[string]any {
	huge, _ := new(big.Int).SetString(strings.Repeat("9", 131072), 10)
	digits, _ := new(big.Int).SetString(strings.Repeat("9", 40), 10)
	return map[string]any{
		"1.50 and 1.5":        struct{ A, B decimal.Decimal }{dec(150, -2), dec(15, -1)},
		"1E+3 and 1000":       struct{ A, B, C decimal.Decimal }{dec(1, 3), dec(1000, 0), dec(10000, -1)},
		"zeros":               struct{ A, B, C, D decimal.Decimal }{decimal.Decimal{}, dec(0, 5), dec(0, -5), dec(0, math.MaxInt32)},
		"negative decimals":   struct{ A, B, C decimal.Decimal }{dec(-5, -3), dec(-150, -2), dec(-1, 20)},
		"smallest decimal":    struct{ A decimal.Decimal }{dec(-7, -16383)},
		"greatest decimal":    struct{ A decimal.Decimal }{dec(7, 131071)},
		"40 digits":           struct{ A decimal.Decimal }{decimal.NewFromBigInt(digits, -20)},
		"decimal pointers":    struct{ A, B *decimal.Decimal }{A: ptr(dec(150, -2))},
		"null decimals":       struct{ A, B decimal.NullDecimal }{A: decimal.NewNullDecimal(dec(10, -1))},
		"list of decimals":    struct{ A []decimal.Decimal }{[]decimal.Decimal{dec(1, 3), dec(1000, 0), {}}},
		"big integers":        struct{ A, B, C big.Int }{*big.NewInt(0), *big.NewInt(math.MinInt64), *huge},
		"big pointers":        struct{ A, B, C *big.Int }{big.NewInt(-1), nil, new(big.Int).Lsh(big.NewInt(1), 64)},
		"list of big":         struct{ A []*big.Int }{[]*big.Int{nil, big.NewInt(0), digits}},
		"2^64-1 in a map":     struct{ A map[uint64]uint64 }{map[uint64]uint64{math.MaxUint64: math.MaxUint64, 0: 0}},
		"floats as keys":      struct{ A map[float64]int }{map[float64]int{math.Inf(1): 1, math.Inf(-1): 2, math.Copysign(0, -1): 3, math.MaxFloat64: 4}},
		"float32 as keys":     struct{ A map[float32]bool }{map[float32]bool{0.1: true, 7.038531e-26: true, math.MaxFloat32: false}},
		"floats in lists":     struct{ A []float32 }{[]float32{0.1, float32(math.NaN()), float32(math.Copysign(0, -1)), float32(math.Inf(1)), math.SmallestNonzeroFloat32}},
		"smallest in lists":   struct{ A []time.Duration }{[]time.Duration{math.MinInt64, math.MaxInt64}},
		"enums":               struct{ A, B, C Color }{Green, Red, Blue},
		"enum of texts":       struct{ A, B, C Mode }{"", "fast", "slow"},
		"optional enums":      struct{ A, B *Mode }{A: ptr(Mode(""))},
		"list of byte enums":  struct{ A, B []Bits }{[]Bits{2, 1, 2}, nil},
		"enums as keys":       struct{ A map[Color]Mode }{map[Color]Mode{Green: "fast", Blue: ""}},
		"set of enums":        struct{ A map[Mode]struct{} }{map[Mode]struct{}{"": {}, "slow": {}}},
		"2 MB text":           struct{ A string }{strings.Repeat("é😀\n", 300_000)},
		"2 MB in a list":      struct{ A []string }{[]string{strings.Repeat(`"\,{}`, 400_000), "", "NULL"}},
		"2 MB of bytes":       struct{ A [][]byte }{[][]byte{make([]byte, 2<<20), {}, nil}},
		"long text as a key":  struct{ A map[string]int }{map[string]int{strings.Repeat("k", 2000): 1, "": 2}},
		"keys that look like": struct{ A map[string]string }{map[string]string{"NULL": "NULL", "{}": "{}", `"`: `\`, `\x00`: "'", "é": "😀"}},
	}
}

func collectionTraps() map[string]any {
	type line struct {
		Note  *string
		Tags  []string
		Extra map[string][]int
	}
	return map[string]any{
		"nil and empty lists":  struct{ A, B []int }{nil, []int{}},
		"nil and empty maps":   struct{ A, B map[string]int }{nil, map[string]int{}},
		"nil and empty sets":   struct{ A, B map[string]struct{} }{nil, map[string]struct{}{}},
		"pointers to lists":    struct{ A, B, C *[]int }{nil, ptr([]int(nil)), &[]int{}},
		"null lists":           struct{ A, B, C sql.Null[[]int] }{sql.Null[[]int]{}, sql.Null[[]int]{Valid: true}, sql.Null[[]int]{V: []int{1}, Valid: true}},
		"list of lists":        struct{ A [][]int }{[][]int{nil, {}, {1}, {2, 3}}},
		"four levels of lists": struct{ A [][][][]string }{[][][][]string{{{{"a"}, nil}, nil, {}}, nil, {}, {{{"b", "c"}}}}},
		"list of nothing":      struct{ A []Nothing }{make([]Nothing, 3)},
		"list of nils":         struct{ A []*AllNil }{[]*AllNil{nil, {}, {A: ptr(1)}}},
		"list of optional":     struct{ A []*string }{[]*string{nil, ptr(""), ptr("x")}},
		"list of bytes":        struct{ A [][]byte }{[][]byte{nil, {}, []byte("\x00\xff\\\"")}},
		"list of times":        struct{ A []time.Time }{[]time.Time{{}, time.Date(2024, 5, 1, 12, 0, 0, 999, zone("Asia/Kathmandu"))}},
		"list of bools":        struct{ A []bool }{[]bool{true, false}},
		"list of null times":   struct{ A []sql.NullTime }{[]sql.NullTime{{}, {Time: time.Unix(0, 1), Valid: true}}},
		"structs, lists, maps": struct{ A []line }{[]line{{}, {ptr("n"), []string{}, map[string][]int{"a": nil, "b": {}, "c": {1, 2}}}, {nil, []string{"x", ""}, nil}}},
		"map of structs":       struct{ A map[string]line }{map[string]line{"a": {}, "b": {ptr(""), []string{"t"}, map[string][]int{"k": {7}}}}},
		"map of optional":      struct{ A map[int]*line }{map[int]*line{-1: nil, 0: {}, 1: {Tags: []string{"x"}}}},
		"map of maps": struct {
			A map[string]map[int]map[bool]string
		}{map[string]map[int]map[bool]string{"a": nil, "b": {}, "c": {1: nil, 2: {}, 3: {true: "x", false: ""}}}},
		"map of sets":     struct{ A map[string]Set[int] }{map[string]Set[int]{"a": nil, "b": {}, "c": {1: {}, 2: {}}}},
		"structs as keys": struct{ A map[Address]int }{map[Address]int{{}: 0, {"a", ""}: 1, {"", "a"}: 2}},
		"nested keys": struct {
			A map[struct{ In Square }]map[Square][]int
		}{map[struct{ In Square }]map[Square][]int{{Square{1, 2}}: {Square{3, 4}: {5}, Square{}: nil}, {}: nil}},
		"set of structs": struct{ A Set[Square] }{Set[Square]{{1, 2}: {}, {2, 1}: {}, {}: {}}},
		"uuids as keys":  struct{ A map[uuid.UUID]StopID }{map[uuid.UUID]StopID{uuid.Nil: {1}, uuid.Max: {2}}},
		"times as keys":  struct{ A map[time.Time]int }{map[time.Time]int{{}: 1, time.Unix(0, 999).UTC(): 2, time.Date(12000, 1, 1, 0, 0, 0, 1, time.UTC): 3, time.Date(0, 2, 29, 0, 0, 0, 0, time.UTC): 4}},
		"named collections": struct {
			A Names
			B Tags
		}{Names{"a", "b"}, Tags{"x": {}}},
		"embedded list":        struct{ Names }{Names{"n"}},
		"optional with a list": struct{ A, B, C *struct{ L []int } }{nil, &struct{ L []int }{}, &struct{ L []int }{[]int{1}}},
		"lists of an optional": struct {
			A []*struct{ L []*struct{ M map[string]int } }
		}{[]*struct{ L []*struct{ M map[string]int } }{nil, {}, {L: []*struct{ M map[string]int }{nil, {}, {M: map[string]int{"a": 1}}}}}},
		"same fields elsewhere": struct{ A, B []line }{[]line{{Tags: []string{"a"}}}, []line{{Tags: []string{"b"}}, {}}},
	}
}

func valueTraps() map[string]any {
	eur := Money{dec(150, -2), "EUR"}
	route := Route{[]SKU{{"a", 1}, {"", 0}}, map[SKU]*Money{{"a", 1}: &eur, {"b", 2}: nil}, ptr(Blue)}
	return map[string]any{
		"value objects": struct {
			A Money
			B SKU
		}{eur, SKU{"x-y", 7}},
		"optional value objects": struct {
			A, B *Money
			C    sql.Null[SKU]
		}{A: &eur, C: sql.Null[SKU]{V: SKU{"a", 1}, Valid: true}},
		"list of value objects": struct {
			A []Money
			B []*Money
		}{[]Money{eur}, []*Money{nil, &eur}},
		"value objects as keys": struct {
			A map[SKU]Money
			B map[SKU]struct{}
		}{map[SKU]Money{{"a", 1}: eur}, map[SKU]struct{}{{"é", 2}: {}}},
		"collections in them": struct {
			A, B Route
			C    []Route
		}{route, Route{}, []Route{{}, route}},
		"hidden interface": struct {
			A, B Shape
			C    []Shape
			D    *Shape
		}{A: circle{1.5}, C: []Shape{nil, circle{2}}, D: ptr(Shape(nil))},
	}
}
