package mapping

import (
	"errors"
	"reflect"
	"strings"

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
	column    string                     // PostgreSQL type
	condition string                     // SQL, with $ for the quoted column name; empty: none
	check     func(column string) string // the same for a condition that holds any text
	nullable  bool                       // a present value may be null
	wayOut    string                     // for values that put refuses
	put       func(v reflect.Value) (any, error)
	get       func(stored any, v reflect.Value) error // stored is nil only if nullable
}

var errNull = errors.New("column is null")

func (l *leaf) columns() []schema.Column {
	return []schema.Column{{Name: l.name, Type: l.column, NotNull: !l.nullable}}
}

func (l *leaf) checks() []schema.Check {
	if l.check != nil {
		return []schema.Check{{Name: l.name, Expression: l.check(l.name)}}
	}
	if l.condition == "" {
		return nil
	}
	return []schema.Check{{Name: l.name, Expression: strings.ReplaceAll(l.condition, "$", schema.Quote(l.name))}}
}

func (l *leaf) encode(w *writer, v reflect.Value, row []any) ([]any, error) {
	stored, err := l.put(v)
	if err != nil {
		return nil, l.value(&w.walk, err, l.wayOut)
	}
	return append(row, stored), nil
}

func (l *leaf) decode(r *reader, row []any, v reflect.Value) error {
	if row[0] == nil && !l.nullable {
		return l.rebuild(&r.walk, errNull)
	}
	if err := l.get(row[0], v); err != nil {
		return l.rebuild(&r.walk, err)
	}
	return nil
}

func (l *leaf) validate(w *walk, v reflect.Value, problems []error) []error {
	return l.validates.run(l.place, w, v, problems)
}

func (l *leaf) validated() bool { return bool(l.validates) }
