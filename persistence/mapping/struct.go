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

func (s *structNode) encode(v reflect.Value, args []any) ([]any, error) {
	var err error
	for _, f := range s.fields {
		if args, err = f.node.encode(v.Field(f.index), args); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (s *structNode) decode(row []any, v reflect.Value) error {
	for _, f := range s.fields {
		if err := f.node.decode(row[:f.width], v.Field(f.index)); err != nil {
			return err
		}
		row = row[f.width:]
	}
	return nil
}

func (s *structNode) validate(v reflect.Value, problems []error) []error {
	for _, f := range s.fields {
		problems = f.node.validate(v.Field(f.index), problems)
	}
	return s.validates.run(s.place, v, problems)
}
