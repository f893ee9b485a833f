package mapping_test

import (
	"math"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidings-go/tidings/persistence/mapping"
)

// Whatever the type and the value: it comes back as it was, in whatever time
// zone the sessions are, or it is refused, and only for a good reason.
func TestRoundTripIsLosslessOrAnError(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rapid.Check(t, func(t *rapid.T) {
		typ := genStruct(t, 3, 1)
		p := mustPlan(t, typ)
		table := s.table(t, p)
		defer s.drop(t, table)
		for range 3 {
			v := reflect.New(typ).Elem()
			fill(t, v)
			if _, err := p.Encode(v.Interface(), nil); err != nil {
				require.ErrorIs(t, err, mapping.ErrValue)
				require.False(t, storable(v), err)
				continue
			}
			require.True(t, storable(v))
			for _, got := range s.roundTrip(t, p, table, v.Interface()) {
				require.Empty(t, same("", v, reflect.ValueOf(got)))
				require.True(t, p.Equal(v.Interface(), got))
			}
		}
	})
}

// Equal agrees with the oracle also on values that differ.
func TestEqualAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typ := genStruct(t, 1, 1)
		p := mustPlan(t, typ)
		a, b := reflect.New(typ).Elem(), reflect.New(typ).Elem()
		fill(t, a)
		fill(t, b)
		want := storable(a) && storable(b) && same("", a, b) == ""
		require.Equal(t, want, p.Equal(a.Interface(), b.Interface()), same("", a, b))
		require.Equal(t, storable(a), p.Equal(a.Interface(), a.Interface()))
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
			require.Empty(t, same("", reflect.ValueOf(f), reflect.ValueOf(got).Field(0)))
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
		args, err := p.Encode(v, nil)
		require.NoError(t, err)
		got, err := load(p, args...)
		require.NoError(t, err)
		require.Equal(t, v, got)
	})
}
