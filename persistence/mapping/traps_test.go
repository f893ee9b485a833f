package mapping_test

import (
	"database/sql"
	"encoding/json"
	"math"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

type (
	text      string
	count     uint16
	stopID    [16]byte
	octet     byte
	oddID     [16]octet
	day       time.Time
	blob      []byte
	odd       []octet
	ratio     float32
	Address   struct{ Street, City string }
	base      struct{ Number int32 }
	Base      struct{ Label text }
	Nothing   struct{}
	allNil    struct{ A, B *int }
	deepNil   struct{ Inner *allNil }
	withBlank struct {
		_ int
		A bool
		_ func()
	}
)

func ptr[T any](v T) *T { return &v }

func zone(name string) *time.Location {
	location, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return location
}

// traps are values that a careless mapping loses.
func traps() map[string]any {
	type b struct{ V []byte }
	type f64 struct{ V float64 }
	type f32 struct{ V float32 }
	type tm struct{ V time.Time }
	berlin := zone("Europe/Berlin")
	return map[string]any{
		"no fields": Nothing{},
		"smallest integers": struct {
			A int8
			B int16
			C int32
			D int64
			E int
			F time.Duration
		}{math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64, math.MinInt, math.MinInt64},
		"greatest integers": struct {
			A int8
			B int16
			C int32
			D int64
			E int
			F time.Duration
		}{math.MaxInt8, math.MaxInt16, math.MaxInt32, math.MaxInt64, math.MaxInt, math.MaxInt64},
		"greatest unsigned": struct {
			A uint8
			B uint16
			C uint32
			D uint64
			E uint
		}{math.MaxUint8, math.MaxUint16, math.MaxUint32, math.MaxUint64, math.MaxUint},
		"zero unsigned": struct{ D uint64 }{},
		"2^63":          struct{ D uint64 }{1 << 63},
		"infinity":      f64{math.Inf(1)},
		"-infinity":     f64{math.Inf(-1)},
		"NaN":           f64{math.NaN()},
		"-0":            f64{math.Copysign(0, -1)},
		"greatest f64":  f64{math.MaxFloat64},
		"smallest f64":  f64{math.SmallestNonzeroFloat64},
		"0.1+0.2":       f64{0.1 + 0.2},
		"infinity f32":  f32{float32(math.Inf(-1))},
		"NaN f32":       f32{float32(math.NaN())},
		"-0 f32":        f32{float32(math.Copysign(0, -1))},
		"greatest f32":  f32{math.MaxFloat32},
		"smallest f32":  f32{-math.SmallestNonzeroFloat32},
		"0.1 f32":       f32{0.1},
		"near 2^-126":   f32{1.1754942e-38},
		"7.038531e-26":  f32{7.038531e-26}, // rounds twice when read as float64
		"text": struct{ A, B, C, D string }{
			"", "'; DROP TABLE t; --\\\"$1%s\n\r\t\v", "😀é\u200b\ufffd\U0010ffff", "\x01\x7f null NULL \\x00 {} ",
		},
		"nil bytes":       b{},
		"no bytes":        b{[]byte{}},
		"bytes":           b{[]byte("\x00\xff\\x'\"\\000")},
		"pointer to none": struct{ A, B, C *[]byte }{nil, ptr([]byte(nil)), ptr([]byte{})},
		"named": struct {
			A text
			B count
			C stopID
			D oddID
			E blob
			F odd
			G ratio
			H json.RawMessage
			I net.IP
			J time.Month
			K day
		}{
			"a", 65535,
			stopID{15: 1},
			oddID{0: 255},
			blob{1},
			odd{2},
			0.3, json.RawMessage("null"),
			net.IPv6loopback, time.May, day(time.Date(2024, 2, 29, 1, 2, 3, 4, berlin)),
		},
		"uuid": struct {
			A, B uuid.UUID
			C    *uuid.UUID
			D    uuid.NullUUID
		}{uuid.Nil, uuid.Max, ptr(uuid.New()), uuid.NullUUID{UUID: uuid.New(), Valid: true}},
		"999 ns":           tm{time.Date(2024, 5, 1, 12, 0, 0, 999, time.UTC)},
		".9999995 s":       tm{time.Date(2024, 5, 1, 12, 0, 0, 999_999_500, time.UTC)},
		"year 9999":        tm{time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)},
		"year 12000":       tm{time.Date(12000, 6, 1, 0, 0, 0, 999_999_999, time.UTC)},
		"last":             tm{time.Date(294275, 12, 31, 23, 59, 59, 999_999_999, time.UTC)},
		"last, in a zone":  tm{time.Date(294275, 12, 31, 23, 59, 59, 999_999_999, time.UTC).In(zone("Asia/Kathmandu"))},
		"year 0":           tm{time.Date(0, 2, 29, 23, 59, 59, 999_999_999, time.UTC)},
		"year -4":          tm{time.Date(-4, 2, 29, 0, 0, 0, 1, time.UTC)},
		"first":            tm{time.Date(-4712, 1, 1, 0, 0, 0, 0, time.UTC)},
		"first, in a zone": tm{time.Date(-4712, 1, 1, 0, 0, 0, 1, time.UTC).In(zone("America/St_Johns"))},
		"zero time":        tm{},
		"zero time, zone":  tm{time.Time{}.In(zone("America/St_Johns"))},
		"before 1970":      tm{time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)},
		"before 2000":      tm{time.Date(1999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)},
		"leap day":         tm{time.Date(4, 2, 29, 0, 0, 0, 1, time.UTC)},
		"gregorian":        tm{time.Date(1582, 10, 10, 0, 0, 0, 0, time.UTC)},
		"local mean time":  tm{time.Date(1850, 1, 1, 0, 0, 0, 1, zone("America/St_Johns"))},
		"repeated hour":    tm{time.Date(2024, 10, 27, 0, 30, 0, 0, time.UTC).In(berlin)},
		"hour once more":   tm{time.Date(2024, 10, 27, 1, 30, 0, 0, time.UTC).In(berlin)},
		"monotonic, local": tm{time.Now()},
		"offset of 1 s":    tm{time.Date(2024, 5, 1, 0, 0, 0, 0, time.FixedZone("", -1))},
		"odd offset":       tm{time.Date(2024, 5, 1, 0, 0, 0, 0, time.FixedZone("odd '\" 😀", 5*3600+45*60+7))},
		"huge offset":      tm{time.Date(2024, 5, 1, 0, 0, 0, 0, time.FixedZone("far", math.MaxInt32))},
		"lying name":       tm{time.Date(2024, 7, 1, 0, 0, 0, 0, time.FixedZone("Europe/Berlin", 60))},
		"fixed UTC":        tm{time.Date(2024, 7, 1, 0, 0, 0, 0, time.FixedZone("UTC", 3600))},
		"fixed Local":      tm{time.Date(2024, 7, 1, 0, 0, 0, 0, time.FixedZone("Local", 4242))},
		"unreadable zone":  tm{time.Date(2024, 7, 1, 0, 0, 0, 0, time.FixedZone("../../etc/passwd", 0))},
		"nested": struct {
			To Address
			base
			Base
			Other *Address
		}{Address{"a", "b"}, base{7}, Base{"l"}, &Address{"c", ""}},
		"embedded pointer": struct{ *Base }{&Base{"l"}},
		"nothing inside":   struct{ A, B *Nothing }{A: &Nothing{}},
		"blank fields":     withBlank{A: true},
		"pointers, nil": struct {
			A *bool
			B *time.Time
			C *Address
			D *allNil
			E **int
			F ***int
		}{},
		"pointers": struct {
			A *bool
			B *time.Time
			C *Address
			D *allNil
			E **int
			F ***int
		}{ptr(false), ptr(time.Time{}), &Address{}, &allNil{}, ptr(ptr(0)), ptr(ptr(ptr(0)))},
		"pointers to nil": struct {
			E    **int
			F, G ***int
			H    *deepNil
			I, J deepNil
		}{E: ptr[*int](nil), F: ptr[**int](nil), G: ptr(ptr[*int](nil)), H: &deepNil{}, I: deepNil{&allNil{}}, J: deepNil{&allNil{B: ptr(1)}}},
		"towers": struct {
			A, B, C, D, E, F *****int
			G                sql.Null[*sql.Null[***allNil]]
		}{
			nil, ptr[****int](nil), ptr(ptr[***int](nil)), ptr(ptr(ptr[**int](nil))), ptr(ptr(ptr(ptr[*int](nil)))), ptr(ptr(ptr(ptr(ptr(1))))),
			sql.Null[*sql.Null[***allNil]]{V: &sql.Null[***allNil]{V: ptr(ptr[*allNil](nil)), Valid: true}, Valid: true},
		},
		"null": struct {
			A, B sql.Null[int]
			C, D sql.NullString
			E    sql.Null[Address]
			F    sql.Null[allNil]
			G    sql.Null[*int]
			H    *sql.Null[[]byte]
			I    sql.NullTime
			J    sql.NullByte
			K    sql.NullFloat64
		}{
			B: sql.Null[int]{V: 1, Valid: true}, D: sql.NullString{Valid: true}, E: sql.Null[Address]{Valid: true},
			F: sql.Null[allNil]{Valid: true}, G: sql.Null[*int]{Valid: true}, H: &sql.Null[[]byte]{Valid: true},
			I: sql.NullTime{Time: time.Unix(0, 1), Valid: true}, J: sql.NullByte{Byte: 255, Valid: true}, A: sql.Null[int]{V: 9},
		},
	}
}

func TestEveryTrapSurvivesTheRoundTrip(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for name, v := range traps() {
		t.Run(name, func(t *testing.T) {
			p := mustPlan(t, reflect.TypeOf(v))
			table := s.table(t, p)
			for _, got := range s.roundTrip(t, p, table, v) {
				require.Empty(t, same("", reflect.ValueOf(v), reflect.ValueOf(got)))
				require.True(t, p.Equal(v, got))
			}
		})
	}
}

// A known location comes back as itself, so that arithmetic on the calendar
// still knows its rules.
func TestTimesKeepTheirLocation(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	p := mustPlan(t, reflect.TypeFor[struct{ At time.Time }]())
	table := s.table(t, p)
	for _, location := range []*time.Location{time.UTC, time.Local, zone("Europe/Berlin")} {
		v := struct{ At time.Time }{time.Date(2024, 1, 31, 0, 0, 0, 5, location)}
		for _, got := range s.roundTrip(t, p, table, v) {
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
	}
	p := mustPlan(t, reflect.TypeFor[event]())
	v := event{time.Date(2024, 1, 31, 0, 0, 0, 5, time.UTC), "x", &Address{"a", "b"}}
	for _, got := range s.roundTrip(t, p, s.table(t, p), &v) {
		require.Equal(t, v, got)
	}
}
