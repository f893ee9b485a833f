package mapping_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/mapping/maptest"
)

type (
	line struct {
		Note string
		Tags []string
		To   *Address
	}
	order struct {
		Lines  []line
		Prices map[Address]map[string]decimal.Decimal
		Grid   [][]int8
		Marks  map[day]struct{}
		Codes  map[string]struct{}
	}
)

// describeTable writes a table as "name (key | other columns)".
func describeTable(t mapping.Table) string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return t.Path + " as " + t.Name + " (" + strings.Join(t.Key, ", ") + " | " + strings.Join(names[len(t.Key):], ", ") + ")"
}

func TestListsSetsAndMapsHaveTablesOfTheirOwn(t *testing.T) {
	t.Parallel()
	var got []string
	p := mustPlan(t, reflect.TypeFor[order]())
	for _, table := range p.Tables() {
		got = append(got, describeTable(table))
	}
	require.Equal(t, []string{
		" as  ( | @count:Lines, @count:Prices, @count:Grid, @count:Marks, @count:Codes)",
		"Lines as Lines (@position | Note, @count:Tags, To.Street, To.City)",
		"Lines[].Tags as Lines.Tags (@position:Lines, @position | @value)",
		"Prices as Prices (@key.Street, @key.City | @count:@value)",
		"Prices[] as Prices[] (@key:Prices.Street, @key:Prices.City, @key | @value, @exponent:@value)",
		"Grid as Grid (@position | @count:@value)",
		"Grid[] as Grid[] (@position:Grid, @position | @value)",
		"Marks as Marks (@value, @nanos:@value | )",
		"Codes as Codes (@value | )",
	}, got)
	for _, c := range p.Tables()[0].Columns {
		require.Equal(t, "integer", c.Type)
		require.False(t, c.NotNull, "nil is null: a new list needs no backfill")
	}

	got = nil
	p = mustPlan(t, reflect.TypeFor[order](), mapping.Column("Lines", "l"), mapping.Column("Lines[].Note", "n"), mapping.Column("Lines[].Tags[]", "tag"),
		mapping.Column("Prices[key]", "at"), mapping.Column("Prices[]", "sum"), mapping.Column("Prices[][]", "s"), mapping.Column("Codes[]", "code"))
	for _, table := range p.Tables() {
		got = append(got, describeTable(table))
	}
	require.Equal(t, []string{
		" as  ( | @count:l, @count:Prices, @count:Grid, @count:Marks, @count:Codes)",
		"Lines as l (@position | n, @count:Tags, To.Street, To.City)",
		"Lines[].Tags as l.Tags (@position:l, @position | tag)",
		"Prices as Prices (at.Street, at.City | @count:sum)",
		"Prices[] as Prices.sum (@key:Prices.at.Street, @key:Prices.at.City, @key | s, @exponent:s)",
		"Grid as Grid (@position | @count:@value)",
		"Grid[] as Grid[] (@position:Grid, @position | @value)",
		"Marks as Marks (@value, @nanos:@value | )",
		"Codes as Codes (code | )",
	}, got)
}

type node struct {
	Kids []node
	By   map[string]*node
}

type listOfItself []listOfItself

func TestCollectionsThatCannotBeStoredAreRefusedWithPathAndWayOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("L", 40)
	for name, tt := range map[string]struct {
		typ  reflect.Type
		opts []mapping.Option
		want string
	}{
		"cycle":             {reflect.TypeFor[node](), nil, "mapping_test.node: Kids[]: type cannot be mapped: mapping_test.node contains itself; refer to the other value by its id"},
		"cycle of a map":    {reflect.TypeFor[node](), nil, "By[]: type cannot be mapped: mapping_test.node contains itself"},
		"list of itself":    {reflect.TypeFor[struct{ L listOfItself }](), nil, "L[]: type cannot be mapped: mapping_test.listOfItself contains itself"},
		"pointer as key":    {reflect.TypeFor[struct{ M map[*int]int }](), nil, "M[key]: type cannot be mapped: *int is a key or a part of one, and pointers compare by their address; make the key a string"},
		"pointer in a key":  {reflect.TypeFor[struct{ M map[allNil]int }](), nil, "M[key].A: "},
		"null as key":       {reflect.TypeFor[struct{ M map[sql.NullInt16]int }](), nil, "M[key]: type cannot be mapped: sql.NullInt16 (a struct) is a key or a part of one, which cannot be null"},
		"interface as key":  {reflect.TypeFor[struct{ M map[any]int }](), nil, "M[key]: type cannot be mapped: interface {} is not supported"},
		"chan as key":       {reflect.TypeFor[struct{ M map[chan int]int }](), nil, "M[key]: "},
		"decimal as key":    {reflect.TypeFor[struct{ M map[decimal.Decimal]int }](), nil, "and decimals compare by the address of their digits"},
		"pointer in a set":  {reflect.TypeFor[struct{ M map[allNil]struct{} }](), nil, "M[].A: "},
		"empty key":         {reflect.TypeFor[struct{ M map[Nothing]int }](), nil, "M[key]: type cannot be mapped: mapping_test.Nothing (a struct) has no fields"},
		"array":             {reflect.TypeFor[struct{ A [3]int }](), nil, "A: type cannot be mapped: [3]int is not supported"},
		"long table":        {reflect.TypeFor[struct{ In struct{ Lines []int } }](), []mapping.Option{mapping.TablePrefix("@event:" + long + "0123456."), mapping.Column("In", "123456")}, `In.Lines: type cannot be mapped: table name "@event:` + long + `0123456.123456.Lines" has 67 bytes, PostgreSQL keeps 63; choose another name with persistence.Column("In.Lines", "shorter")`},
		"long count":        {reflect.StructOf([]reflect.StructField{{Name: long + long[:20], Type: reflect.TypeFor[[]int]()}}), nil, `column name "@count:`},
		"long key below":    {reflect.StructOf([]reflect.StructField{{Name: long, Type: reflect.TypeFor[map[struct{ Aaaaaaaaaaaaaaaaaaaaaaaaaaa int }][]int]()}}), nil, long + "[]: type cannot be mapped: column name \"@key:" + long + ".Aaaaaaaaaaaaaaaaaaaaaaaaaaa\" has"},
		"same table":        {reflect.TypeFor[order](), []mapping.Option{mapping.Column("Grid", "Lines.Tags")}, `Grid: type cannot be mapped: table name "Lines.Tags" is taken by Lines[].Tags; choose another name`},
		"same column":       {reflect.TypeFor[order](), []mapping.Option{mapping.Column("Lines[].Note", "To.City")}, `Lines[].To.City: type cannot be mapped: column name "To.City" is taken by Lines[].Note`},
		"same as a key":     {reflect.TypeFor[order](), []mapping.Option{mapping.Column("Prices[key].City", "x"), mapping.Column("Prices[key].Street", "x")}, `column name "x" is taken by Prices[key].Street`},
		"no such element":   {reflect.TypeFor[order](), []mapping.Option{mapping.Column("Lines.Note", "x")}, "Lines.Note: type cannot be mapped: Column: the type has no such field; write Go field names joined by dots, with [] for an element and [key] for a key"},
		"a set has no keys": {reflect.TypeFor[order](), []mapping.Option{mapping.Column("Codes[key]", "x")}, "no such field"},
		"too many columns": {reflect.TypeFor[struct {
			L []twice[twice[twice[manifold[bool]]]]
		}](), nil, "L: type cannot be mapped: more than the 1600 columns"},
		"too many keys": {reflect.TypeFor[struct {
			L []map[twice2[twice2[twice2[twice2[twice2[int]]]]]]int
		}](), nil, "L[]: type cannot be mapped: positions and keys have 33 columns, an index of PostgreSQL holds 31"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := mapping.NewPlan(tt.typ, tt.opts...)
			require.ErrorIs(t, err, mapping.ErrType)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

type twice2[T any] struct{ L, R T }

func TestValuesInCollectionsAreRefusedWithTheirPath(t *testing.T) {
	t.Parallel()
	type item struct {
		Note  string
		At    map[string][]*time.Time
		Money []maptest.Money
	}
	type event struct {
		Lines  []item
		Prices map[string]item
		When   map[time.Time]int
		Floats map[float64]struct{}
		Modes  map[int]maptest.Mode
		SKUs   map[maptest.SKU]int
		Big    []*big.Int
		Square map[maptest.Square]string
		Sum    []decimal.Decimal
	}
	p := maptest.MustPlan(t, reflect.TypeFor[event]())
	late := ptr(time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC))
	short := maptest.Money{}
	for want, v := range map[string]event{
		"maptest":                     {},
		"Lines[1].Note: value cannot": {Lines: []item{{}, {Note: "\x00"}}},
		`Prices["a\"b"].Note: value cannot be stored: text is not valid UTF-8`:                           {Prices: map[string]item{`a"b`: {Note: "\xff"}}},
		`Prices[key "\xff"]: value cannot be stored: text is not valid UTF-8`:                            {Prices: map[string]item{"\xff": {}}},
		`Lines[0].At["k"][2]: value cannot be stored: time is out of range`:                              {Lines: []item{{At: map[string][]*time.Time{"k": {nil, nil, late}}}}},
		`Lines[2].Money[1]: value cannot be stored: its codec does not take back what it gave: currency`: {Lines: []item{{}, {}, {Money: []maptest.Money{maptest.Must("EUR"), short}}}},
		`When[key "2024-05-01 00:00:00 +0100 X"]: value cannot be stored: time as a key is not in UTC or has a monotonic reading; use t.Round(0).UTC() as the key`: {
			When: map[time.Time]int{time.Date(2024, 5, 1, 0, 0, 0, 0, time.FixedZone("X", 3600)): 1},
		},
		"Floats[NaN]: value cannot be stored: NaN as a key; leave it out":                        {Floats: map[float64]struct{}{math.NaN(): {}}},
		`Modes[-3]: value cannot be stored: "FAST" is no declared value of maptest.Mode; add it`: {Modes: map[int]maptest.Mode{-3: "FAST"}},
		"keys of 2001 bytes; an index holds 2000":                                                {Prices: map[string]item{strings.Repeat("k", 2001): {}}},
		`Square["{1 2}"]: value cannot`:                                                          {Square: map[maptest.Square]string{{File: 1, Rank: 2}: "\x00"}},
		"Big[0]: value cannot be stored: number is too long for numeric":                         {Big: []*big.Int{new(big.Int).Exp(big.NewInt(10), big.NewInt(131072), nil)}},
		"Sum[1]: value cannot be stored: number is too long for numeric":                         {Sum: []decimal.Decimal{{}, decimal.New(1, -16384)}},
	} {
		_, err := p.Encode(v)
		if want == "maptest" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, mapping.ErrValue, want)
		require.ErrorContains(t, err, want)
	}
	for _, d := range []decimal.Decimal{decimal.New(1, 131072), decimal.New(1, math.MaxInt32), decimal.New(1, math.MinInt32)} {
		_, err := p.Encode(event{Sum: []decimal.Decimal{d}})
		require.ErrorContains(t, err, "number is too long for numeric")
	}
}

// What Decode would refuse is refused before it is stored.
func TestValidateIsAskedBeforeAValueIsStored(t *testing.T) {
	t.Parallel()
	type event struct {
		Visits []visit
		By     map[zip]*zip
	}
	p := mustPlan(t, reflect.TypeFor[event]())
	_, err := p.Encode(event{By: map[zip]*zip{"12345": nil, "54321": ptr(zip("12345"))}})
	require.NoError(t, err)
	_, err = p.Encode(event{Visits: []visit{{}, {To: &place{Zip: "1"}}}, By: map[zip]*zip{"12": ptr(zip("3"))}})
	require.ErrorIs(t, err, mapping.ErrValue)
	require.ErrorIs(t, err, errZip)
	for _, want := range []string{"Visits[1].To.Zip: value cannot be stored: a zip has five digits", `By[key "12"]: value`, `By["12"]: value`} {
		require.ErrorContains(t, err, want)
	}
}

// What fits into a type fits into a row, whatever the values are.
func TestTooWideRowsAreRefused(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for name, tt := range map[string]struct {
		typ   reflect.Type
		most  int
		value any
	}{
		"bigint": {reflect.TypeFor[int64](), 975, int64(math.MaxInt64)},
		"text":   {reflect.TypeFor[string](), 325, strings.Repeat("é😀x", 20)},
		"mixed": {reflect.TypeFor[struct {
			A bool
			B *float64
		}](), 487, struct {
			A bool
			B *float64
		}{true, ptr(1.5)}},
	} {
		wide := func(n int) reflect.Type {
			var fields []reflect.StructField
			for i := range n {
				fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: tt.typ})
			}
			return reflect.StructOf(fields)
		}
		_, err := mapping.NewPlan(wide(tt.most + 1))
		require.ErrorContains(t, err, "bytes, a page of PostgreSQL holds 7800 of them; split the type", name)
		p := mustPlan(t, wide(tt.most))
		v := reflect.New(p.Type()).Elem()
		for i := range v.NumField() {
			v.Field(i).Set(reflect.ValueOf(tt.value))
		}
		for _, got := range s.RoundTrip(t, p, s.Create(t, p), v.Interface()) {
			require.Empty(t, maptest.Same(v.Interface(), got))
		}
	}
}
