package mapping

import (
	"errors"
	"reflect"

	"github.com/tidings-go/tidings/persistence/schema"
)

// leaf is a value in one column.
type leaf struct {
	place
	kind
	validates validation
}

// kind is the storage of a family of Go types.
type kind struct {
	column    string // PostgreSQL type
	condition string // further SQL conditions, following the column name; empty: none
	nullable  bool   // a present value may be null
	wayOut    string // for values that put refuses
	put       func(v reflect.Value) (any, error)
	get       func(stored any, v reflect.Value) error // stored is nil only if nullable
}

var errNull = errors.New("column is null")

func (l *leaf) columns() []schema.Column {
	return []schema.Column{{Name: l.name, Type: l.column, NotNull: !l.nullable}}
}

func (l *leaf) checks() []schema.Check {
	if l.condition == "" {
		return nil
	}
	return []schema.Check{{Name: l.name, Expression: schema.Quote(l.name) + " " + l.condition}}
}

func (l *leaf) encode(v reflect.Value, args []any) ([]any, error) {
	stored, err := l.put(v)
	if err != nil {
		return nil, l.value(err, l.wayOut)
	}
	return append(args, stored), nil
}

func (l *leaf) decode(row []any, v reflect.Value) error {
	if row[0] == nil && !l.nullable {
		return l.rebuild(errNull)
	}
	if err := l.get(row[0], v); err != nil {
		return l.rebuild(err)
	}
	return nil
}

func (l *leaf) validate(v reflect.Value, problems []error) []error {
	return l.validates.run(l.place, v, problems)
}
