package mapping_test

import (
	"math"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/mapping/maptest"
)

// Equal agrees with the oracle also on values that differ.
func TestEqualAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typ := maptest.GenStruct(t, 2, 1)
		p := maptest.MustPlan(t, typ)
		left, right := reflect.New(typ).Elem(), reflect.New(typ).Elem()
		maptest.Fill(t, left)
		maptest.Fill(t, right)
		a, b := left.Interface(), right.Interface()
		want := maptest.Storable(a) && maptest.Storable(b) && maptest.Same(a, b) == ""
		require.Equal(t, want, p.Equal(a, b), maptest.Same(a, b))
		require.Equal(t, maptest.Storable(a), p.Equal(a, a))
	})
}

// The shortest text of a float32, read as a float64 by the driver, yields the
// same float32.
func TestFloat32SurvivesBeingReadAsFloat64(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, reflect.TypeFor[struct{ F float32 }]())
	check := func(t require.TestingT, f float32) {
		read, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
		require.NoError(t, err)
		for _, stored := range []float64{read, float64(f)} { // lib/pq, pgx
			got, err := load(p, stored)
			require.NoError(t, err)
			require.Empty(t, maptest.Same(f, reflect.ValueOf(got).Field(0).Interface()))
		}
	}
	check(t, 7.038531e-26)
	rapid.Check(t, func(t *rapid.T) { check(t, math.Float32frombits(rapid.Uint32().Draw(t, "bits"))) })
}

// Any path and name are either refused or harmless.
func FuzzColumnNeverPanics(f *testing.F) {
	f.Add("To.Street", "short")
	f.Add("", "")
	f.Add("A\x00", "@x")
	f.Add("To", "\xff\"")
	type event struct {
		A  int
		To Address
		B  *allNil
	}
	f.Fuzz(func(t *testing.T, path, name string) {
		p, err := mapping.NewPlan(reflect.TypeFor[event](), mapping.Column(path, name))
		if err != nil {
			require.ErrorIs(t, err, mapping.ErrType)
			return
		}
		v := event{A: 1, To: Address{"s", "c"}, B: &allNil{}}
		rows, err := p.Encode(v)
		require.NoError(t, err)
		got, err := load(p, rows.Root()...)
		require.NoError(t, err)
		require.Equal(t, v, got)
	})
}
