package mapping_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/mapping/maptest"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

type (
	text    string
	stopID  [16]byte
	day     time.Time
	Address struct{ Street, City string }
	base    struct{ Number int32 }
	Base    struct{ Label text }
	Nothing struct{}
	allNil  struct{ A, B *int }
)

func ptr[T any](v T) *T { return &v }

func zone(name string) *time.Location {
	location, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return location
}

func mustPlan(t require.TestingT, typ reflect.Type, opts ...mapping.Option) *mapping.Plan {
	p, err := mapping.NewPlan(typ, opts...)
	require.NoError(t, err)
	return p
}

func newStore(t *testing.T) *maptest.Store {
	return maptest.OpenStore(t, "postgres", pgtest.Database(t))
}

func TestMappingWithLibPQ(t *testing.T) {
	t.Parallel()
	maptest.Run(t, "postgres", func() string { return pgtest.Database(t) })
}

// A known location comes back as itself, so that arithmetic on the calendar
// still knows its rules.
func TestTimesKeepTheirLocation(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	p := mustPlan(t, reflect.TypeFor[struct{ At time.Time }]())
	tables := s.Create(t, p)
	for _, location := range []*time.Location{time.UTC, time.Local, zone("Europe/Berlin")} {
		v := struct{ At time.Time }{time.Date(2024, 1, 31, 0, 0, 0, 5, location)}
		for _, got := range s.RoundTrip(t, p, tables, v) {
			require.Equal(t, v.At.AddDate(0, 6, 0).String(), got.(struct{ At time.Time }).At.AddDate(0, 6, 0).String())
		}
	}
}

func TestZeroUTCTimeIsDeeplyEqual(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	type event struct {
		At   time.Time
		Name string
		To   *Address
		Tags []string
		Fees map[time.Time][]int
	}
	p := mustPlan(t, reflect.TypeFor[event]())
	v := event{
		time.Date(2024, 1, 31, 0, 0, 0, 5, time.UTC), "x", &Address{"a", "b"},
		[]string{"t"},
		map[time.Time][]int{time.Date(2024, 1, 31, 0, 0, 0, 5, time.UTC): {1}},
	}
	for _, got := range s.RoundTrip(t, p, s.Create(t, p), &v) {
		require.Equal(t, v, got)
	}
}
