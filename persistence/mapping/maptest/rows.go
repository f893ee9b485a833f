package maptest

import (
	"database/sql"
	"math/big"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// Row is one row of the table of mappings: what it is called and Go types that
// it covers. The types of a row with Wrap are made of others.
type Row struct {
	Name  string
	Types []reflect.Type
	Wrap  func(inner, key reflect.Type) reflect.Type
}

func types(values ...any) []reflect.Type {
	all := make([]reflect.Type, len(values))
	for i, v := range values {
		all[i] = reflect.TypeOf(v).Elem()
	}
	return all
}

// Table has all rows of the table of mappings.
var Table = []Row{
	{Name: "bool", Types: types((*bool)(nil))},
	{Name: "int8, int16, uint8", Types: types((*int8)(nil), (*int16)(nil), (*uint8)(nil))},
	{Name: "int32, uint16", Types: types((*int32)(nil), (*uint16)(nil), (*Count)(nil))},
	{Name: "int, int64, uint32", Types: types((*int)(nil), (*int64)(nil), (*uint32)(nil))},
	{Name: "uint, uint64", Types: types((*uint)(nil), (*uint64)(nil))},
	{Name: "big.Int", Types: types((*big.Int)(nil), (**big.Int)(nil))},
	{Name: "float32, float64", Types: types((*float32)(nil), (*float64)(nil), (*Ratio)(nil))},
	{Name: "string", Types: types((*string)(nil), (*Text)(nil))},
	{Name: "[]byte", Types: types((*[]byte)(nil), (*Blob)(nil), (*Odd)(nil))},
	{Name: "uuid.UUID, [16]byte", Types: types((*uuid.UUID)(nil), (*[16]byte)(nil), (*StopID)(nil), (*OddID)(nil))},
	{Name: "decimal.Decimal", Types: types((*decimal.Decimal)(nil), (*decimal.NullDecimal)(nil))},
	{Name: "time.Time", Types: types((*time.Time)(nil), (*Day)(nil))},
	{Name: "time.Duration", Types: types((*time.Duration)(nil))},
	{Name: "enum", Types: types((*Color)(nil), (*Mode)(nil), (*Bits)(nil))},
	{Name: "struct", Types: types((*Address)(nil), (*struct{ base })(nil), (*struct{ Base })(nil), (*Nothing)(nil), (*AllNil)(nil), (*DeepNil)(nil))},
	{Name: "*T", Wrap: func(inner, _ reflect.Type) reflect.Type { return reflect.PointerTo(inner) }},
	{Name: "sql.Null[T]", Types: types((*sql.Null[int16])(nil), (*sql.Null[string])(nil), (*sql.Null[time.Time])(nil), (*sql.Null[AllNil])(nil),
		(*sql.Null[*float32])(nil), (*sql.Null[[]*Money])(nil), (*sql.NullInt32)(nil), (*sql.NullTime)(nil), (*uuid.NullUUID)(nil))},
	{Name: "[]T", Wrap: func(inner, _ reflect.Type) reflect.Type { return reflect.SliceOf(inner) }},
	{Name: "map[T]struct{}", Wrap: func(_, key reflect.Type) reflect.Type {
		return reflect.MapOf(key, reflect.TypeFor[struct{}]())
	}},
	{Name: "map[K]V", Wrap: func(inner, key reflect.Type) reflect.Type { return reflect.MapOf(key, inner) }},
	{Name: "codec", Types: types((*Money)(nil), (*SKU)(nil), (*Route)(nil), (*Shape)(nil))},
}

// keyTypes are the types from which keys are made.
var keyTypes = types(
	(*bool)(nil), (*int8)(nil), (*int64)(nil), (*uint8)(nil), (*uint64)(nil), (*float32)(nil), (*float64)(nil),
	(*string)(nil), (*Text)(nil), (*uuid.UUID)(nil), (*OddID)(nil), (*time.Time)(nil), (*Day)(nil), (*time.Duration)(nil),
	(*Color)(nil), (*Mode)(nil), (*SKU)(nil), (*Address)(nil), (*Square)(nil), (*struct{ base })(nil),
	(*struct {
		At   time.Time
		What SKU
		F    float64
	})(nil),
)

// plainTypes are all types of the rows that are made of no others.
func plainTypes() []reflect.Type {
	var all []reflect.Type
	for _, row := range Table {
		all = append(all, row.Types...)
	}
	return append(all, reflect.TypeFor[Tags](), reflect.TypeFor[Names](), reflect.TypeFor[Set[SKU]]())
}
