package maptest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidings-go/tidings/persistence/mapping"
)

// Run proves the mapping with a driver of database/sql; database returns the URL
// of a fresh database.
func Run(t *testing.T, driver string, database func() string) {
	t.Run("every trap survives the round trip", func(t *testing.T) {
		t.Parallel()
		everyTrap(t, OpenStore(t, driver, database()))
	})
	t.Run("round trip is lossless or an error", func(t *testing.T) {
		t.Parallel()
		anyType(t, OpenStore(t, driver, database()))
	})
	t.Run("every row of the table is met at depth three", func(t *testing.T) {
		t.Parallel()
		everyRow(t, OpenStore(t, driver, database()))
	})
}

func everyTrap(t *testing.T, s *Store) {
	for name, v := range Traps() {
		t.Run(name, func(t *testing.T) {
			p := MustPlan(t, reflect.TypeOf(v))
			for _, got := range s.RoundTrip(t, p, s.Create(t, p), v) {
				require.Empty(t, Same(v, got))
				require.True(t, p.Equal(v, got))
			}
		})
	}
}

// Whatever the type and the value: it comes back as it was, in whatever time
// zone the sessions are, or it is refused, and only for a good reason.
func anyType(t *testing.T, s *Store) {
	rapid.Check(t, func(t *rapid.T) {
		typ := GenStruct(t, 3, 1)
		s.proveType(t, typ, 3, func(v reflect.Value) { Fill(t, v) })
	})
}

// proveType stores and loads values of a type.
func (s *Store) proveType(t *rapid.T, typ reflect.Type, values int, fill func(reflect.Value)) {
	p := MustPlan(t, typ)
	all := s.create(t, p)
	defer s.Drop(t, all)
	for i := range values {
		v := reflect.New(typ).Elem()
		fill(v)
		if _, err := p.Encode(v.Interface()); err != nil {
			require.ErrorIs(t, err, mapping.ErrValue)
			require.False(t, Storable(v.Interface()), err)
			continue
		}
		require.True(t, Storable(v.Interface()))
		got := s.roundTrip(t, i%len(s.sessions), p, all, v.Interface())
		require.Empty(t, Same(v.Interface(), got))
		require.True(t, p.Equal(v.Interface(), got))
	}
}

// everyRow has each row of the table of mappings generated inside three lists,
// maps, pointers or structs. It fails if a row was never met there: then the
// generator, not the mapping, is what must be mended.
func everyRow(t *testing.T, s *Store) {
	met := map[string]bool{}
	next := 0
	for next < 2*len(Table) { // more than once with few -rapid.checks
		rapid.Check(t, func(t *rapid.T) {
			row := Table[next%len(Table)]
			next++
			typ := reflect.StructOf([]reflect.StructField{{Name: "A", Type: genChain(t, row)}})
			s.proveType(t, typ, 1, func(v reflect.Value) {
				if here := fillChain(t, v); here[row.Name] && Storable(v.Interface()) {
					met[row.Name] = true
				}
			})
		})
	}
	for _, row := range Table {
		require.True(t, met[row.Name], "no value of %s was stored and loaded", row.Name)
	}
}

// fillChain fills a chain with what can be stored, and returns the rows met.
func fillChain(t *rapid.T, v reflect.Value) map[string]bool {
	var met map[string]bool
	for range 20 {
		v.SetZero()
		met = map[string]bool{}
		(&filler{t: t, full: true, met: met}).fill(v)
		if Storable(v.Interface()) {
			break
		}
	}
	return met
}
