package mapping_test

import (
	"database/sql"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/mapping"
)

func TestColumnsFollowTheSource(t *testing.T) {
	t.Parallel()
	type Stop struct {
		ID       stopID
		Größe    uint8
		To       Address
		Maybe    *Address
		Nil      *allNil
		At       time.Time
		Until    *time.Time
		Note     *string
		Raw      []byte
		Total    uint64
		Took     time.Duration
		Ratio    float32
		Exact    float64
		Optional sql.Null[Base]
		base
	}
	p := mustPlan(t, reflect.TypeFor[Stop](), mapping.Column("To", "t"), mapping.Column("Maybe.City", "😀"), mapping.Column("Until", "u"))
	var lines []string
	for _, c := range p.Tables()[0].Columns {
		line := c.Name + " " + c.Type
		if c.NotNull {
			line += " NOT NULL"
		}
		lines = append(lines, line)
	}
	require.Equal(t, []string{
		"ID uuid NOT NULL",
		"Größe smallint NOT NULL",
		"t.Street text NOT NULL", "t.City text NOT NULL",
		"Maybe.Street text", "😀 text",
		"@present:Nil boolean NOT NULL", "Nil.A bigint", "Nil.B bigint",
		"At timestamp with time zone NOT NULL", "@nanos:At smallint NOT NULL", "@offset:At integer NOT NULL", "@zone:At text NOT NULL",
		"u timestamp with time zone", "@nanos:u smallint", "@offset:u integer", "@zone:u text",
		"Note text", "Raw bytea",
		"Total numeric(20,0) NOT NULL", "Took bigint NOT NULL", "Ratio real NOT NULL", "Exact double precision NOT NULL",
		"Optional.Label text",
		"base.Number integer NOT NULL",
	}, lines)
	checks := map[string]string{}
	for _, c := range p.Tables()[0].Checks {
		checks[c.Name] = c.Expression
	}
	require.Equal(t, map[string]string{
		"Größe":          `"Größe" BETWEEN 0 AND 255`,
		"@present:Maybe": `num_nonnulls("Maybe.Street", "😀") IN (0, 2)`,
		"@present:Nil":   `(COALESCE("@present:Nil", false) OR num_nonnulls("Nil.A", "Nil.B") = 0)`,
		"@nanos:At":      `"@nanos:At" BETWEEN 0 AND 999`,
		"@nanos:u":       `"@nanos:u" BETWEEN 0 AND 999`,
		"@present:u":     `num_nonnulls("u", "@nanos:u", "@offset:u", "@zone:u") IN (0, 4)`,
		"Total":          `"Total" BETWEEN 0 AND 18446744073709551615`,
	}, checks)
	require.Len(t, p.Tables()[0].Checks, len(checks))
}

type (
	loop        struct{ Next *loop }
	wide        struct{ Inner inside }
	inside      struct{ Outer sql.Null[*wide] }
	selfPointer *selfPointer
	Embedded    = checkedByValue
)

type checkedByValue struct{ A int }

func (c checkedByValue) Validate() error { return nil }

func TestUnsupportedTypesAreRefusedWithPathAndWayOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		typ  reflect.Type
		opts []mapping.Option
		want []string
	}{
		"map":            {typ: reflect.TypeFor[struct{ To struct{ M map[string]any } }](), want: []string{"To.M[]: ", "interface {} is not supported; use a supported type"}},
		"slice":          {typ: reflect.TypeFor[struct{ S [][]func() }](), want: []string{"S[][]: ", "func() is not supported"}},
		"array":          {typ: reflect.TypeFor[struct{ S [15]byte }](), want: []string{"S: ", "[15]uint8 is not supported"}},
		"interface":      {typ: reflect.TypeFor[struct{ I any }](), want: []string{"I: ", "interface {} is not supported"}},
		"error":          {typ: reflect.TypeFor[struct{ I error }](), want: []string{"I: ", "error is not supported"}},
		"func":           {typ: reflect.TypeFor[struct{ F func() }](), want: []string{"F: ", "func() is not supported"}},
		"chan":           {typ: reflect.TypeFor[struct{ C chan int }](), want: []string{"C: ", "chan int is not supported"}},
		"complex":        {typ: reflect.TypeFor[struct{ C complex128 }](), want: []string{"complex128 is not supported"}},
		"uintptr":        {typ: reflect.TypeFor[struct{ C uintptr }](), want: []string{"uintptr is not supported"}},
		"unsafe pointer": {typ: reflect.TypeFor[struct{ C unsafe.Pointer }](), want: []string{"unsafe.Pointer is not supported"}},
		"under pointers": {typ: reflect.TypeFor[struct{ P *sql.Null[*chan int] }](), want: []string{"P: ", "chan int is not supported"}},
		"unexported":     {typ: reflect.TypeFor[struct{ B big.Rat }](), want: []string{"B: ", "big.Rat has unexported fields: a, b; register a codec for it with persistence.Codec, export the fields"}},
		"mutex":          {typ: reflect.TypeFor[struct{ L *sync.Mutex }](), want: []string{"L: ", "sync.Mutex has unexported fields"}},
		"hidden id":      {typ: reflect.TypeFor[struct{ stopID }](), want: []string{"unexported fields: stopID"}},
		"hidden pointer": {typ: reflect.TypeFor[struct{ *base }](), want: []string{"unexported fields: base"}},
		"hidden time":    {typ: reflect.TypeFor[struct{ day }](), want: []string{"unexported fields: day"}},
		"cycle":          {typ: reflect.TypeFor[loop](), want: []string{"mapping_test.loop: Next: ", "mapping_test.loop contains itself; refer to the other value by its id"}},
		"wide cycle":     {typ: reflect.TypeFor[struct{ W wide }](), want: []string{"W.Inner.Outer: ", "mapping_test.wide contains itself"}},
		"pointer cycle":  {typ: reflect.TypeFor[struct{ P selfPointer }](), want: []string{"P: ", "contains itself"}},
		"no struct":      {typ: reflect.TypeFor[int](), want: []string{"int is no struct of fields; wrap the value in a struct"}},
		"time":           {typ: reflect.TypeFor[time.Time](), want: []string{"time.Time (a struct) is no struct of fields"}},
		"null":           {typ: reflect.TypeFor[sql.NullInt16](), want: []string{"is no struct of fields"}},
		"pointer":        {typ: reflect.TypeFor[*Address](), want: []string{"*mapping_test.Address is no struct of fields"}},
		"no type":        {want: []string{"no type given"}},
		"promoted Validate": {
			typ:  reflect.TypeFor[struct{ *Embedded }](),
			want: []string{"embeds the pointer Embedded, and a Validate that calls it panics on nil; embed the value"},
		},
		"everything at once": {
			typ:  reflect.TypeFor[struct{ A, B chan int }](),
			opts: []mapping.Option{mapping.Column("C", "c"), nil},
			want: []string{"A: ", "B: ", "C: ", "Column: the type has no such field"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := mapping.NewPlan(tt.typ, tt.opts...)
			require.Nil(t, p)
			require.ErrorIs(t, err, mapping.ErrType)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestNamesAreRefusedWithTheWayOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("L", 64)
	type two struct {
		A, B int
		At   time.Time
		To   Address
	}
	field := func(name string, typ any) reflect.Type {
		return reflect.StructOf([]reflect.StructField{{Name: name, Type: reflect.TypeOf(typ)}})
	}
	for name, tt := range map[string]struct {
		typ  reflect.Type
		opts []mapping.Option
		want string // empty: accepted
	}{
		"64 bytes":             {field(long, 1), nil, `column name "` + long + `" has 64 bytes, PostgreSQL keeps 63; choose another column name with persistence.Column("` + long + `", "shorter")`},
		"63 bytes":             {field(long[1:], 1), nil, ""},
		"64 bytes in 32 runes": {field("Ä"+strings.Repeat("ä", 31), 1), nil, "has 64 bytes"},
		"technical name":       {field(strings.Repeat("T", 56), time.Time{}), nil, `column name "@offset:`},
		"longest time":         {field(strings.Repeat("T", 55), time.Time{}), nil, ""},
		"long path": {reflect.TypeFor[struct {
			To struct{ StreetStreetStreetStreetStreetStreetStreetStreetStreetStreet12 int }
		}](), nil, "To.Street"},
		"shortened": {field(long, 1), []mapping.Option{mapping.Column(long, "short")}, ""},
		"shortened by stem": {reflect.TypeFor[struct {
			TooLong struct{ StreetStreetStreetStreetStreetStreetStreetStreetStreet12345 int }
		}](), []mapping.Option{mapping.Column("TooLong", "t")}, ""},
		"collision":           {reflect.TypeFor[two](), []mapping.Option{mapping.Column("A", "B")}, `B: type cannot be mapped: column name "B" is taken by A`},
		"collision of a path": {reflect.TypeFor[two](), []mapping.Option{mapping.Column("A", "To.City")}, `column name "To.City" is taken by A`},
		"collision of stems":  {reflect.TypeFor[struct{ A, B Address }](), []mapping.Option{mapping.Column("A", "x"), mapping.Column("B", "x")}, `column name "x.Street" is taken by A.Street`},
		"swap":                {reflect.TypeFor[two](), []mapping.Option{mapping.Column("A", "B"), mapping.Column("B", "A")}, ""},
		"reserved":            {reflect.TypeFor[two](), []mapping.Option{mapping.Reserved("id", "x"), mapping.Column("A", "id")}, `column name "id" is taken by the framework`},
		"reserved embedded":   {reflect.TypeFor[two](), []mapping.Option{mapping.Reserved("To.City")}, `To.City: type cannot be mapped: column name "To.City" is taken by the framework`},
		"technical":           {reflect.TypeFor[two](), []mapping.Option{mapping.Column("A", "@occurredAt")}, "begins with @, which marks technical columns"},
		"system column":       {reflect.TypeFor[two](), []mapping.Option{mapping.Column("A", "ctid")}, `"ctid" is a system column`},
		"empty":               {reflect.TypeFor[two](), []mapping.Option{mapping.Column("A", "")}, "name is empty"},
		"NUL":                 {reflect.TypeFor[two](), []mapping.Option{mapping.Column("A", "a\x00")}, "contains NUL"},
		"invalid UTF-8":       {reflect.TypeFor[two](), []mapping.Option{mapping.Column("To", "a\xff")}, "not valid UTF-8"},
		"unknown path":        {reflect.TypeFor[two](), []mapping.Option{mapping.Column("To.Zip", "z")}, "To.Zip: type cannot be mapped: Column: the type has no such field; write Go field names joined by dots"},
		"other case":          {reflect.TypeFor[two](), []mapping.Option{mapping.Column("a", "z")}, "no such field"},
		"empty path":          {reflect.TypeFor[two](), []mapping.Option{mapping.Column("", "z")}, "no such field"},
		"named twice":         {reflect.TypeFor[two](), []mapping.Option{mapping.Column("A", "x"), mapping.Column("A", "y")}, "Column names this field twice; keep one of them"},
		"emoji and quotes":    {reflect.TypeFor[two](), []mapping.Option{mapping.Column("A", `😀 "a'`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := mapping.NewPlan(tt.typ, tt.opts...)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, mapping.ErrType)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

type (
	twice[T any]    struct{ L, R *T }
	manifold[T any] = twice[twice[twice[twice[twice[twice[twice[twice[T]]]]]]]]
)

// A tree of structs has exponentially many leaves: planning stops in time.
func TestTooManyColumnsAreRefusedQuickly(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[manifold[manifold[manifold[manifold[time.Time]]]]](),
		reflect.TypeFor[manifold[manifold[manifold[manifold[Nothing]]]]](),
		reflect.TypeFor[twice[twice[twice[manifold[bool]]]]](),
	} {
		_, err := mapping.NewPlan(typ)
		require.ErrorIs(t, err, mapping.ErrType)
		require.ErrorContains(t, err, "more than the 1600 columns")
	}
}

func TestAPlanServesManyGoroutines(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, reflect.TypeFor[struct{ At time.Time }]())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 200 {
				v := struct{ At time.Time }{time.Unix(int64(i*j), 7).In(zone("Europe/Berlin"))}
				rows, err := p.Encode(v)
				if err != nil {
					panic(err)
				}
				args := rows.Root()
				args[0] = v.At.Truncate(time.Microsecond) // as a driver returns it
				if got, err := load(p, args...); err != nil || !p.Equal(v, got) {
					panic(fmt.Sprint(v, got, err))
				}
			}
		})
	}
	all.Wait()
}
