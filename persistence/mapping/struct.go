package mapping

import (
	"reflect"
	"slices"

	"github.com/tidings-go/tidings/persistence/schema"
)

// structNode is a struct: its fields one after another.
type structNode struct {
	place
	fields    []structField
	validates validation
	all       []schema.Column
}

type structField struct {
	index int
	node  node
	width int
}

func (s *structNode) add(index int, n node) {
	columns := n.columns()
	s.fields = append(s.fields, structField{index: index, node: n, width: len(columns)})
	s.all = append(s.all, columns...)
}

func (s *structNode) columns() []schema.Column { return s.all }

func (s *structNode) checks() []schema.Check {
	var all []schema.Check
	for _, f := range s.fields {
		all = append(all, f.node.checks()...)
	}
	return slices.Clip(all)
}

func (s *structNode) encode(w *writer, v reflect.Value, row []any) ([]any, error) {
	var err error
	for _, f := range s.fields {
		if row, err = f.node.encode(w, v.Field(f.index), row); err != nil {
			return nil, err
		}
	}
	return row, nil
}

func (s *structNode) decode(r *reader, row []any, v reflect.Value) error {
	for _, f := range s.fields {
		if err := f.node.decode(r, row[:f.width], v.Field(f.index)); err != nil {
			return err
		}
		row = row[f.width:]
	}
	return nil
}

func (s *structNode) validate(w *walk, v reflect.Value, problems []error) []error {
	for _, f := range s.fields {
		problems = f.node.validate(w, v.Field(f.index), problems)
	}
	return s.validates.run(s.place, w, v, problems)
}

func (s *structNode) validated() bool {
	return bool(s.validates) || slices.ContainsFunc(s.fields, func(f structField) bool { return f.node.validated() })
}
