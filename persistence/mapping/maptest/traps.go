package maptest

import (
	"encoding/json"
	"math"
	"net"
	"time"

	"github.com/google/uuid"
)

type withBlank struct {
	_ int
	A bool
	_ func()
}

func ptr[T any](v T) *T { return &v }

// Traps are values that a careless mapping loses.
func Traps() map[string]any {
	all := scalarTraps()
	for _, more := range []map[string]any{timeTraps(), absentTraps(), numberTraps(), collectionTraps(), valueTraps()} {
		for name, v := range more {
			all[name] = v
		}
	}
	return all
}

func scalarTraps() map[string]any {
	type b struct{ V []byte }
	type f64 struct{ V float64 }
	type f32 struct{ V float32 }
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
			A Text
			B Count
			C StopID
			D OddID
			E Blob
			F Odd
			G Ratio
			H json.RawMessage
			I net.IP
			J time.Month
			K Day
		}{
			"a", 65535,
			StopID{15: 1},
			OddID{0: 255},
			Blob{1},
			Odd{2},
			0.3, json.RawMessage("null"),
			net.IPv6loopback, time.May, Day(time.Date(2024, 2, 29, 1, 2, 3, 4, berlin)),
		},
		"uuid": struct {
			A, B uuid.UUID
			C    *uuid.UUID
			D    uuid.NullUUID
		}{uuid.Nil, uuid.Max, ptr(uuid.New()), uuid.NullUUID{UUID: uuid.New(), Valid: true}},
		"nested": struct {
			To Address
			base
			Base
			Other *Address
		}{Address{"a", "b"}, base{7}, Base{"l"}, &Address{"c", ""}},
		"embedded pointer": struct{ *Base }{&Base{"l"}},
		"nothing inside":   struct{ A, B *Nothing }{A: &Nothing{}},
		"blank fields":     withBlank{A: true},
	}
}
