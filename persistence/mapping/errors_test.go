package mapping_test

import (
	"database/sql"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/mapping/maptest"
	"github.com/tidings-go/tidings/persistence/schema"
)

func TestValuesThatWouldLoseSomethingAreRefused(t *testing.T) {
	t.Parallel()
	type event struct {
		Name string
		To   struct{ Zip *text }
		At   *time.Time
	}
	p := mustPlan(t, reflect.TypeFor[event]())
	tooFar := math.MaxInt32
	tooFar++
	at := func(year int, location *time.Location) event {
		return event{At: ptr(time.Date(year, 6, 1, 0, 0, 0, 0, location))}
	}
	for name, tt := range map[string]struct {
		v    any
		want string
	}{
		"NUL":              {event{Name: "a\x00b"}, "mapping_test.event: Name: value cannot be stored: text has NUL at byte 1; clean the text before it is emitted, or declare the field as []byte"},
		"invalid UTF-8":    {event{To: struct{ Zip *text }{ptr(text("\xff"))}}, "mapping_test.event: To.Zip: value cannot be stored: text is not valid UTF-8"},
		"surrogate":        {event{Name: "\xed\xa0\x80"}, "not valid UTF-8"},
		"year -4713":       {at(-4713, zone("Asia/Kathmandu")), "At: value cannot be stored: time is out of range; the years 4713 BC to 294275 (in UTC) can be stored"},
		"year 294276":      {at(294276, time.UTC), "out of range"},
		"year 300000":      {at(300000, time.UTC), "out of range"},
		"before the first": {event{At: ptr(time.Date(-4712, 1, 1, 0, 0, 0, -1, time.UTC))}, "out of range"},
		"after the last":   {event{At: ptr(time.Date(294276, 1, 1, 0, 0, 0, 0, time.UTC))}, "out of range"},
		"far past":         {event{At: ptr(time.Unix(math.MinInt64, 0))}, "out of range"},
		"far future":       {event{At: ptr(time.Unix(math.MaxInt64, 0))}, "out of range"},
		"NUL in zone":      {at(2024, time.FixedZone("a\x00", 0)), "At: value cannot be stored: zone name: text has NUL"},
		"absurd offset":    {at(2024, time.FixedZone("a", tooFar)), "zone offset of 2147483648 seconds"},
		"nil":              {nil, "no value given"},
		"nil pointer":      {(*event)(nil), "nil pointer given"},
		"other type":       {Address{}, "mapping_test.Address given"},
		"pointers":         {ptr(&event{}), "**mapping_test.event given"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, err := p.Encode(tt.v)
			require.Nil(t, rows)
			require.ErrorIs(t, err, mapping.ErrValue)
			require.ErrorContains(t, err, tt.want)
			require.False(t, p.Equal(tt.v, tt.v))
		})
	}
}

func TestEncodeAppendsPlainDriverValues(t *testing.T) {
	t.Parallel()
	for _, v := range maptest.Traps() {
		p := maptest.MustPlan(t, reflect.TypeOf(v))
		rows, err := p.Encode(v)
		require.NoError(t, err)
		require.Len(t, rows.Root(), len(p.Tables()[0].Columns))
		for _, arg := range rows.Root() {
			switch arg := arg.(type) {
			case int64, float64, bool, string, nil:
			case []byte:
				require.NotNil(t, arg)
			default:
				t.Errorf("%T", arg)
			}
		}
	}
}

func TestEqualIsEqualityAsStored(t *testing.T) {
	t.Parallel()
	type event struct {
		F float64
		A time.Time
		P *int
		B []byte
		N sql.Null[string]
	}
	p := mustPlan(t, reflect.TypeFor[event]())
	now := time.Now()
	for name, tt := range map[string]struct {
		a, b event
		want bool
	}{
		"NaN":            {event{F: math.NaN()}, event{F: -math.NaN()}, true},
		"-0":             {event{F: 0}, event{F: math.Copysign(0, -1)}, false},
		"monotonic":      {event{A: now}, event{A: now.Round(0)}, true},
		"nanosecond":     {event{A: now}, event{A: now.Add(1)}, false},
		"offset":         {event{A: now.UTC()}, event{A: now.In(time.FixedZone("UTC", 60))}, false},
		"zone name":      {event{A: now.UTC()}, event{A: now.In(time.FixedZone("GMT", 0))}, false},
		"pointers":       {event{P: ptr(1)}, event{P: ptr(1)}, true},
		"nil pointer":    {event{P: ptr(0)}, event{}, false},
		"bytes":          {event{B: []byte{1}}, event{B: []byte{1}}, true},
		"other bytes":    {event{B: []byte{1}}, event{B: []byte{2}}, false},
		"nil bytes":      {event{B: []byte{}}, event{}, false},
		"invalid null":   {event{N: sql.Null[string]{V: "x"}}, event{}, true},
		"null and empty": {event{N: sql.Null[string]{Valid: true}}, event{}, false},
	} {
		require.Equal(t, tt.want, p.Equal(tt.a, tt.b), name)
		require.Equal(t, tt.want, p.Equal(&tt.b, tt.a), name)
	}
	require.False(t, p.Equal(event{}, nil))
	require.False(t, p.Equal(nil, event{}))
}

type (
	zip   string
	place struct {
		Zip  zip
		Zips *zip
	}
	visit struct {
		To    *place
		Total int
		Mode  string
	}
)

var errZip = errors.New("a zip has five digits")

func (z zip) Validate() error {
	if len(z) != 5 {
		return errZip
	}
	return nil
}

func (p *place) Validate() error {
	if p.Zips != nil && *p.Zips == p.Zip {
		return errors.New("twice the same")
	}
	return nil
}

func (v visit) Validate() error {
	switch v.Mode {
	case "panic":
		panic("in user code")
	case "nil":
		return errors.New(v.To.Zips.string())
	}
	return nil
}

func (z *zip) string() string { return string(*z) }

// scanned returns targets of a table that hold args, as from a driver.
func scanned(p *mapping.Plan, table int, args ...any) []any {
	targets := p.Targets(table)
	for i := range min(len(args), len(targets)) {
		if err := targets[i].(sql.Scanner).Scan(args[i]); err != nil {
			panic(err)
		}
	}
	return targets
}

// load decodes a value of one row.
func load(p *mapping.Plan, args ...any) (any, error) {
	record := p.NewRecord()
	record.Add(0, scanned(p, 0, args...))
	return p.Decode(record)
}

func TestRebuildingAsksTodaysRules(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, reflect.TypeFor[visit]())
	got, err := load(p, "12345", "54321", int64(1), "")
	require.NoError(t, err)
	require.Equal(t, visit{&place{"12345", ptr(zip("54321"))}, 1, ""}, got)
	got, err = load(p, nil, nil, int64(1), "")
	require.NoError(t, err, "what is absent is not asked")
	require.Equal(t, visit{Total: 1}, got)

	_, err = load(p, "1", "1", int64(1), "panic")
	require.ErrorIs(t, err, mapping.ErrRebuild)
	require.ErrorIs(t, err, errZip)
	require.EqualError(t, err, "mapping_test.visit: To.Zip: value cannot be rebuilt: a zip has five digits\n"+
		"mapping_test.visit: To.Zips: value cannot be rebuilt: a zip has five digits\n"+
		"mapping_test.visit: To: value cannot be rebuilt: twice the same\n"+
		"mapping_test.visit: value cannot be rebuilt: panic in Validate: in user code")
	_, err = load(p, nil, nil, int64(1), "nil")
	require.ErrorContains(t, err, "panic in Validate: runtime error: invalid memory address")
	var field *mapping.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "mapping_test.visit", field.Type)
}

// hidden embeds an unexported struct whose own Validate is shadowed.
type hidden struct{ guarded }

type guarded struct{ A int }

func (g guarded) Validate() error {
	if g.A < 0 {
		return errors.New("negative")
	}
	return nil
}

func (hidden) Validate() error { return nil }

func TestShadowedValidateOfAnEmbeddedStructRuns(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, reflect.TypeFor[hidden]())
	_, err := load(p, int64(-1))
	require.EqualError(t, err, "mapping_test.hidden: guarded: value cannot be rebuilt: negative")
}

func TestRowsThatYieldNoValueAreErrors(t *testing.T) {
	t.Parallel()
	type scalars struct {
		B bool
		I int8
		U uint64
		F float32
		S string
		D stopID
	}
	type optional struct {
		A *Address
		N *allNil
		R []byte
	}
	good := []any{true, int64(1), []byte("1"), 1.5, "s", []byte("00000000-0000-0000-0000-000000000001")}
	p := mustPlan(t, reflect.TypeFor[scalars]())
	_, err := load(p, good...)
	require.NoError(t, err)
	for i, bad := range []struct {
		column int
		stored any
		want   string
	}{
		{0, nil, "B: value cannot be rebuilt: column is null"},
		{0, "maybe", "B: "},
		{0, int64(1), "the driver returned int64"},
		{1, nil, "I: "},
		{1, int64(128), "I: value cannot be rebuilt: 128 is out of the range of int8"},
		{1, true, "the driver returned bool"},
		{1, "x", "invalid syntax"},
		{2, int64(-1), "U: value cannot be rebuilt: -1 is negative"},
		{2, "18446744073709551616", "out of range"},
		{2, []byte("NaN"), "invalid syntax"},
		{2, "1.5", "invalid syntax"},
		{3, 1e300, "F: "},
		{3, []byte("x"), "F: "},
		{3, true, "F: "},
		{4, nil, "S: "},
		{4, time.Time{}, "the driver returned time.Time"},
		{5, "no uuid", "D: "},
		{5, nil, "D: "},
		{5, []byte{}, "D: "},
	} {
		row := append([]any{}, good...)
		row[bad.column] = bad.stored
		_, err := load(p, row...)
		require.ErrorIs(t, err, mapping.ErrRebuild, i)
		require.ErrorContains(t, err, bad.want)
	}

	p = mustPlan(t, reflect.TypeFor[optional]())
	for _, row := range [][]any{
		{nil, "half", true, nil, nil, nil},
		{"half", nil, true, nil, nil, nil},
		{nil, nil, false, int64(1), nil, nil},
		{nil, nil, nil, nil, nil, nil},
		{nil, nil, true, nil, nil, "text"},
	} {
		_, err := load(p, row...)
		require.ErrorIs(t, err, mapping.ErrRebuild, row)
	}

	p = mustPlan(t, reflect.TypeFor[struct{ At time.Time }]())
	for _, row := range [][]any{
		{[]byte("infinity"), int64(0), int64(0), "UTC"},
		{nil, int64(0), int64(0), "UTC"},
		{true, int64(0), int64(0), "UTC"},
		{time.Time{}, int64(1000), int64(0), "UTC"},
		{time.Time{}, nil, int64(0), "UTC"},
		{time.Time{}, int64(0), nil, "UTC"},
		{time.Time{}, int64(0), int64(0), nil},
	} {
		_, err := load(p, row...)
		require.ErrorIs(t, err, mapping.ErrRebuild, row)
	}
}

func TestDecodeRefusesForeignTargets(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, reflect.TypeFor[Address]())
	for _, targets := range [][]any{nil, {}, {nil, nil}, {new(string), new(string)}, make([]any, 3), append(p.Targets(0), nil), p.Targets(0)} {
		record := p.NewRecord()
		record.Add(0, targets)
		_, err := p.Decode(record)
		require.ErrorIs(t, err, mapping.ErrRebuild)
	}
	record := p.NewRecord()
	_, err := p.Decode(record)
	require.ErrorIs(t, err, mapping.ErrRebuild, "no row")
	record.Add(0, scanned(p, 0, "a", "b"))
	record.Add(0, scanned(p, 0, "a", "b"))
	_, err = p.Decode(record)
	require.ErrorIs(t, err, mapping.ErrRebuild, "two rows")
	_, err = mustPlan(t, reflect.TypeFor[allNil]()).Decode(record)
	require.ErrorIs(t, err, mapping.ErrRebuild, "of another plan")
}

// The checks keep out what Decode would refuse.
func TestChecksKeepRowsWhole(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	type event struct {
		U uint8
		T uint64
		P *Address
		N *allNil
		D *struct{ In *allNil }
		A *time.Time
		E ***int
	}
	p := mustPlan(t, reflect.TypeFor[event]())
	table := s.Create(t, p)
	rows, err := p.Encode(event{P: &Address{}, N: &allNil{A: ptr(1)}, A: ptr(time.Now()), E: ptr(ptr(ptr(1)))})
	require.NoError(t, err)
	_, err = s.Insert(0, table, rows)
	require.NoError(t, err)
	for _, change := range []struct{ set, constraint string }{
		{`"U" = 256`, "U"},
		{`"U" = -1`, "U"},
		{`"T" = 18446744073709551616`, "T"},
		{`"T" = 'NaN'`, "T"},
		{`"P.Street" = NULL`, "@present:P"},
		{`"@present:N" = false`, "@present:N"},
		{`"D.In.A" = 1`, "@present:D"},
		{`"@zone:A" = NULL`, "@present:A"},
		{`"@nanos:A" = 1000`, "@nanos:A"},
		{`"@present:E" = NULL`, "@present:E"},
	} {
		err := s.Exec("UPDATE " + schema.Qualified(table[0].Schema, table[0].Name) + " SET " + change.set)
		require.ErrorContains(t, err, change.constraint, change.set)
	}
}
