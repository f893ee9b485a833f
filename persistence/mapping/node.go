package mapping

import (
	"reflect"

	"github.com/tidings-go/tidings/persistence/schema"
)

// node is one value of the type's tree. Inner nodes (structNode, optionalNode)
// hand parts of a row to their children, leaves turn one Go value into one or
// more columns. Values given to a node are addressable, except that a leaf may
// not rely on settability in encode.
type node interface {
	// columns lists the node's columns in the order of encode and decode. Its
	// length never changes.
	columns() []schema.Column
	// checks lists the conditions on these columns.
	checks() []schema.Check
	// encode appends one driver value per column.
	encode(v reflect.Value, args []any) ([]any, error)
	// decode sets v from one driver value per column.
	decode(row []any, v reflect.Value) error
	// validate appends the complaints of Validate methods, innermost first.
	validate(v reflect.Value, problems []error) []error
}

// place is what every node knows of its position.
type place struct {
	root string // name of the mapped type
	path string // Go path
	name string // stem of its column names
}

func (p place) problem(kind, err error, wayOut string) error {
	return &FieldError{Type: p.root, Path: p.path, Kind: kind, Err: err, WayOut: wayOut}
}

// value and rebuild wrap the problem of one value.
func (p place) value(err error, wayOut string) error { return p.problem(ErrValue, err, wayOut) }
func (p place) rebuild(err error) error              { return p.problem(ErrRebuild, err, "") }

// witness returns the position of a column that is never null where the node
// has a value, or -1 if there is none.
func witness(columns []schema.Column) int {
	for i, c := range columns {
		if c.NotNull {
			return i
		}
	}
	return -1
}

func nullable(columns []schema.Column) []schema.Column {
	out := make([]schema.Column, len(columns))
	for i, c := range columns {
		c.NotNull = false
		out[i] = c
	}
	return out
}
