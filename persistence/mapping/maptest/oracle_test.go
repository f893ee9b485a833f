package maptest

import (
	"database/sql"
	"math"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The oracle is worth what it sees: each pair differs in one thing.
func TestTheOracleSeesEveryDifference(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	one := 1
	for name, pair := range map[string][2]any{
		"-0":              {0.0, math.Copysign(0, -1)},
		"float":           {float32(1), float32(2)},
		"exponent":        {decimal.New(150, -2), decimal.New(15, -1)},
		"coefficient":     {decimal.New(1, 0), decimal.New(2, 0)},
		"big":             {*big.NewInt(1), *big.NewInt(2)},
		"nanosecond":      {at, at.Add(1)},
		"offset":          {at, at.In(time.FixedZone("UTC", 60))},
		"zone":            {at, at.In(time.FixedZone("GMT", 0))},
		"nil slice":       {[]int(nil), []int{}},
		"nil bytes":       {[]byte(nil), []byte{}},
		"bytes":           {[]byte{1}, []byte{2}},
		"length":          {[]int{1}, []int{1, 2}},
		"element":         {[][]int{{1}}, [][]int{{2}}},
		"nil element":     {[][]int{nil}, [][]int{{}}},
		"nil map":         {map[int]int(nil), map[int]int{}},
		"key":             {map[int]int{1: 1}, map[int]int{2: 1}},
		"value":           {map[int]int{1: 1}, map[int]int{1: 2}},
		"sign of a key":   {map[float64]int{0: 1}, map[float64]int{math.Copysign(0, -1): 1}},
		"set":             {map[int]struct{}{1: {}}, map[int]struct{}{2: {}}},
		"nil pointer":     {&one, (*int)(nil)},
		"null":            {sql.Null[int]{}, sql.Null[int]{Valid: true}},
		"hidden field":    {SKU{"a", 1}, SKU{"a", 2}},
		"hidden number":   {Money{decimal.New(1, 3), "EUR"}, Money{decimal.New(1000, 0), "EUR"}},
		"hidden list":     {Route{stops: []SKU{}}, Route{}},
		"hidden map":      {Route{fees: map[SKU]*Money{{"a", 1}: nil}}, Route{fees: map[SKU]*Money{{"a", 2}: nil}}},
		"interface":       {struct{ S Shape }{circle{1}}, struct{ S Shape }{circle{2}}},
		"nil interface":   {struct{ S Shape }{circle{1}}, struct{ S Shape }{}},
		"type":            {1, int64(1)},
		"embedded struct": {struct{ base }{base{1}}, struct{ base }{base{2}}},
	} {
		require.NotEmpty(t, Same(pair[0], pair[1]), name)
		require.Empty(t, Same(pair[0], pair[0]), name)
		require.Empty(t, Same(pair[1], pair[1]), name)
	}
	require.Empty(t, Same(math.NaN(), -math.NaN()))
	require.Empty(t, Same(sql.Null[int]{V: 1}, sql.Null[int]{}))
}

// A chain that lacks its row is noticed.
func TestTheCoverageIsOfWhatStandsAtDepthThree(t *testing.T) {
	t.Parallel()
	type shallow struct{ A []Color }
	type deep struct{ A []*Color }
	type deeper struct{ A []*struct{ In Color } }
	for _, tt := range []struct {
		v   any
		met bool
	}{{&shallow{}, false}, {&deep{}, true}, {&deeper{}, false}} {
		rapid.Check(t, func(t *rapid.T) {
			met := fillChain(t, reflect.ValueOf(tt.v).Elem())
			require.Equal(t, tt.met, met["enum"])
		})
	}
}
