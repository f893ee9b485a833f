package mapping

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tidings-go/tidings/persistence/schema"
)

// optionalNode is a value that may be absent: *T, or sql.Null[T] and its like.
// Absent means that all its columns are null. Present is told by the witness, a
// column that a present value never leaves null; where the value has none, a
// presence column of its own comes first.
type optionalNode struct {
	place
	inner   node
	pointer bool // *T; else a struct {V T; Valid bool}
	all     []schema.Column
	witness int
	own     bool // all[0] is the presence column
	null    []any
}

func newOptional(at place, inner node, pointer bool) *optionalNode {
	o := &optionalNode{place: at, inner: inner, pointer: pointer}
	o.witness = witness(inner.columns())
	o.all = nullable(inner.columns())
	if o.own = o.witness < 0; o.own {
		o.witness = 0
		presence := schema.Column{Name: "@present:" + at.name, Type: "boolean", NotNull: true}
		for slices.ContainsFunc(o.all, func(c schema.Column) bool { return c.Name == presence.Name }) {
			presence.Name += "*" // of a pointer to an optional value of the same path
		}
		o.all = append([]schema.Column{presence}, o.all...)
	}
	o.null = make([]any, len(o.all))
	if o.own {
		o.null[0] = false
	}
	return o
}

func (o *optionalNode) columns() []schema.Column { return o.all }

// checks adds one that holds the columns together, so that a row written by
// hand cannot be half there.
func (o *optionalNode) checks() []schema.Check {
	all := o.inner.checks()
	if len(o.all) == 1 {
		return all
	}
	var conditions []string
	required, free := o.parts()
	if len(required) > 1 {
		conditions = append(conditions, fmt.Sprintf("num_nonnulls(%s) IN (0, %d)", strings.Join(required, ", "), len(required)))
	}
	if len(free) > 0 {
		present := schema.Quote(o.all[o.witness].Name) + " IS NOT NULL"
		if o.own {
			present = "COALESCE(" + schema.Quote(o.all[0].Name) + ", false)"
		}
		conditions = append(conditions, fmt.Sprintf("(%s OR num_nonnulls(%s) = 0)", present, strings.Join(free, ", ")))
	}
	together := schema.Check{Name: "@present:" + o.name, Expression: strings.Join(conditions, " AND ")}
	for i := range all { // a pointer to a pointer: both speak of the same columns
		if all[i].Name == together.Name {
			all[i].Expression += " AND " + together.Expression
			return all
		}
	}
	return append(all, together)
}

// parts divides the quoted columns of the value into those that it never leaves
// null and the others.
func (o *optionalNode) parts() (required, free []string) {
	for _, c := range o.inner.columns() {
		if c.NotNull {
			required = append(required, schema.Quote(c.Name))
		} else {
			free = append(free, schema.Quote(c.Name))
		}
	}
	return required, free
}

func (o *optionalNode) encode(w *writer, v reflect.Value, row []any) ([]any, error) {
	value, present := o.get(v)
	if !present {
		return append(row, o.null...), nil
	}
	if o.own {
		row = append(row, true)
	}
	return o.inner.encode(w, value, row)
}

func (o *optionalNode) get(v reflect.Value) (value reflect.Value, present bool) {
	if o.pointer {
		return v.Elem(), !v.IsNil()
	}
	return v.Field(0), v.Field(1).Bool()
}

func (o *optionalNode) decode(r *reader, row []any, v reflect.Value) error {
	present, err := o.present(row)
	if err != nil {
		return o.rebuild(&r.walk, err)
	}
	if !present {
		return o.absent(r, row)
	}
	if o.own {
		row = row[1:]
	}
	if o.pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return o.inner.decode(r, row, v.Elem())
	}
	v.Field(1).SetBool(true)
	return o.inner.decode(r, row, v.Field(0))
}

func (o *optionalNode) present(row []any) (bool, error) {
	if !o.own {
		return row[o.witness] != nil, nil
	}
	return asBool(row[0])
}

// absent makes sure that nothing is lost by taking the value for absent.
func (o *optionalNode) absent(r *reader, row []any) error {
	if o.own {
		row = row[1:]
	}
	for i, part := range row {
		if part != nil {
			column := o.all[len(o.all)-len(row)+i].Name
			return o.rebuild(&r.walk, fmt.Errorf("the value is absent, but its column %q is not null", column))
		}
	}
	return nil
}

func (o *optionalNode) validate(w *walk, v reflect.Value, problems []error) []error {
	value, present := o.get(v)
	if !present {
		return problems
	}
	return o.inner.validate(w, value, problems)
}

func (o *optionalNode) validated() bool { return o.inner.validated() }
