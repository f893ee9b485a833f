// Package mapping maps a plain Go struct, an event, to tables and back: lossless
// or an error.
//
// [NewPlan] looks at a type once and returns its tables, or all reasons why it
// cannot be stored, each with the path of the field and a way out. The plan then
// encodes values to rows and decodes rows without looking up a name. A plan never
// changes and may be used by several goroutines at once.
//
// # Names
//
// A column is named like its field, in exact case; the fields of a nested
// struct, embedded or not, follow the name of their struct and a dot:
// Address.Street. [Column] gives a field, or a struct and with it everything
// below, another name. Technical columns begin with @:
//
//	@present:Path   is a value there whose parts may all be null
//	@count:Path     how many elements a list, set or map has; null: it is nil
//	@nanos:Path     what a time has beyond its microseconds, 0 to 999
//	@offset:Path    its offset from UTC in seconds
//	@zone:Path      its location's name
//	@exponent:Path  the exponent of a decimal
//
// and, in the tables of lists, sets and maps,
//
//	@position       the position in a list, from 0
//	@key            the key of a map, or @key.Field
//	@value          an element that is no struct of fields
//	@position:Path  @key:Path  the same of the levels above
//
// # Types
//
//	bool                          boolean
//	int8, int16, uint8            smallint
//	int32, uint16                 integer
//	int, int64, uint32            bigint
//	uint, uint64                  numeric(20,0)
//	big.Int                       numeric without fraction
//	float32, float64              real, double precision
//	string                        text
//	[]byte                        bytea, nil as null
//	[16]byte, uuid.UUID           uuid
//	decimal.Decimal               numeric, and its exponent
//	time.Time                     timestamp with time zone and three technical columns
//	time.Duration                 bigint, in nanoseconds
//	enum ([Enum])                 text, one of its codes
//	struct                        the columns of its fields
//	*T, sql.Null[T]               the columns of T, nullable
//	[]T                           a count, and a table by position
//	map[T]struct{}                a count, and a table by element
//	map[K]V                       a count, and a table by key
//	[Codec]                       whatever its representation is
//
// and every named type over one of them, in any nesting, further the relatives of
// sql.Null (sql.NullString and so on, uuid.NullUUID, decimal.NullDecimal). A check
// holds each column within the range of its Go type where PostgreSQL's is wider,
// and the columns of a nullable value together.
//
// # What is kept
//
// Floats keep NaN, ±Inf and the sign of zero; all NaNs are one. A string with
// NUL or invalid UTF-8 is refused. Nil and empty stay apart, for bytes, lists,
// sets and maps. The V of an invalid sql.Null is not stored. Decimals keep their
// exponent: 1.50, 1.5 and 1E+3 stay apart.
//
// A time keeps its instant to the nanosecond, its offset and the name of its
// location, not its monotonic reading. It is read into the location of that
// name if that still has the offset at that instant, and else into a fixed zone
// of that name and offset. So the local time of a node becomes, on a node with
// another local zone, a fixed zone called Local. The years 4713 BC to 294275 (in
// UTC) can be stored, others are refused; mind that time.Time has no JSON beyond
// the years 0 to 9999.
//
// A key is found again by == after the round trip: pointers, decimals and NaN
// cannot be keys, a time must be in UTC.
//
// Blank fields (_) are no data and are passed over.
package mapping
