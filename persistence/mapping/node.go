package mapping

import (
	"reflect"

	"github.com/tidings-go/tidings/persistence/schema"
)

// node is one value of the type's tree. Inner nodes hand parts of a row to their
// children, leaves turn one Go value into one or more columns, collections turn
// it into rows of another table. Values given to a node are addressable.
type node interface {
	// columns lists the node's columns in the order of encode and decode. Its
	// length never changes.
	columns() []schema.Column
	// checks lists the conditions on these columns.
	checks() []schema.Check
	// encode appends one driver value per column to row, and rows to w.
	encode(w *writer, v reflect.Value, row []any) ([]any, error)
	// decode sets v from one driver value per column, and from rows of r.
	decode(r *reader, row []any, v reflect.Value) error
	// validate appends the complaints of Validate methods, innermost first.
	validate(w *walk, v reflect.Value, problems []error) []error
	// validated says whether a value here can have a Validate method.
	validated() bool
}

// place is what every node knows of its position.
type place struct {
	root string // name of the mapped type
	path string // Go path, with [] for an element and [key] for a key
	name string // stem of its column names
	bare bool   // the stem is no part of the names below it
}

func (p place) problem(path string, kind, err error, wayOut string) error {
	return &FieldError{Type: p.root, Path: path, Kind: kind, Err: err, WayOut: wayOut}
}

// value and rebuild wrap the problem of one value, met on a walk.
func (p place) value(w *walk, err error, wayOut string) error {
	return p.problem(w.at(p.path), ErrValue, err, wayOut)
}

func (p place) rebuild(w *walk, err error) error {
	return p.problem(w.at(p.path), ErrRebuild, err, "")
}

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
