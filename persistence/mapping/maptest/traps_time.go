package maptest

import (
	"database/sql"
	"math"
	"time"
)

func timeTraps() map[string]any {
	type tm struct{ V time.Time }
	berlin := zone("Europe/Berlin")
	return map[string]any{
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
	}
}

func absentTraps() map[string]any {
	return map[string]any{
		"pointers, nil": struct {
			A *bool
			B *time.Time
			C *Address
			D *AllNil
			E **int
			F ***int
		}{},
		"pointers": struct {
			A *bool
			B *time.Time
			C *Address
			D *AllNil
			E **int
			F ***int
		}{ptr(false), ptr(time.Time{}), &Address{}, &AllNil{}, ptr(ptr(0)), ptr(ptr(ptr(0)))},
		"pointers to nil": struct {
			E    **int
			F, G ***int
			H    *DeepNil
			I, J DeepNil
		}{E: ptr[*int](nil), F: ptr[**int](nil), G: ptr(ptr[*int](nil)), H: &DeepNil{}, I: DeepNil{&AllNil{}}, J: DeepNil{&AllNil{B: ptr(1)}}},
		"towers": struct {
			A, B, C, D, E, F *****int
			G                sql.Null[*sql.Null[***AllNil]]
		}{
			nil, ptr[****int](nil), ptr(ptr[***int](nil)), ptr(ptr(ptr[**int](nil))), ptr(ptr(ptr(ptr[*int](nil)))), ptr(ptr(ptr(ptr(ptr(1))))),
			sql.Null[*sql.Null[***AllNil]]{V: &sql.Null[***AllNil]{V: ptr(ptr[*AllNil](nil)), Valid: true}, Valid: true},
		},
		"null": struct {
			A, B sql.Null[int]
			C, D sql.NullString
			E    sql.Null[Address]
			F    sql.Null[AllNil]
			G    sql.Null[*int]
			H    *sql.Null[[]byte]
			I    sql.NullTime
			J    sql.NullByte
			K    sql.NullFloat64
		}{
			B: sql.Null[int]{V: 1, Valid: true}, D: sql.NullString{Valid: true}, E: sql.Null[Address]{Valid: true},
			F: sql.Null[AllNil]{Valid: true}, G: sql.Null[*int]{Valid: true}, H: &sql.Null[[]byte]{Valid: true},
			I: sql.NullTime{Time: time.Unix(0, 1), Valid: true}, J: sql.NullByte{Byte: 255, Valid: true}, A: sql.Null[int]{V: 9},
		},
	}
}
