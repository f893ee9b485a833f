package mapping

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/tidings-go/tidings/persistence/schema"
)

// collection is what lists and maps have in common: a column that counts the
// elements, null where there is no list or map, and a table that holds them. The
// count tells nil from empty, and a list that lost rows from a shorter one; a new
// list needs no backfill of old rows.
type collection struct {
	place
	table     int
	counter   schema.Column
	element   node
	validates validation
}

func newCollection(at place, table int, t reflect.Type) collection {
	return collection{
		place: at, table: table, validates: validationOf(t),
		counter: schema.Column{Name: countColumn + at.name, Type: "integer"},
	}
}

func (c *collection) columns() []schema.Column { return []schema.Column{c.counter} }

func (c *collection) checks() []schema.Check {
	return []schema.Check{{Name: c.counter.Name, Expression: schema.Quote(c.counter.Name) + " >= 0"}}
}

// count appends the number of elements.
func (c *collection) count(w *writer, v reflect.Value, row []any) ([]any, error) {
	switch {
	case v.IsNil():
		return append(row, nil), nil
	case v.Len() > math.MaxInt32:
		return nil, c.value(&w.walk, fmt.Errorf("%d elements", v.Len()), "two thousand million can be stored")
	}
	return append(row, int64(v.Len())), nil
}

// stored returns the rows of a collection, as many as its count says; ok is
// false where it is nil.
func (c *collection) stored(r *reader, row []any) (rows [][]any, ok bool, err error) {
	if row[0] == nil {
		return nil, false, nil
	}
	count, err := asInt(row[0])
	if err != nil {
		return nil, false, c.rebuild(&r.walk, err)
	}
	if count != 0 {
		rows = r.below(c.table)
	}
	if int64(len(rows)) != count {
		return nil, false, c.rebuild(&r.walk, fmt.Errorf("%d rows of %d elements", len(rows), count))
	}
	return rows, true, nil
}

// listNode is a slice: its elements by their position.
type listNode struct{ collection }

// list returns the node of a slice type.
func (b *builder) list(t reflect.Type, at place) node {
	above := b.table
	index, table := b.open(at)
	defer func() { b.table = above }()
	table.setKey([]schema.Column{{Name: positionColumn, Type: "integer", NotNull: true}})
	n := &listNode{newCollection(at, index, t)}
	if n.element = b.build(t.Elem(), b.element(at)); n.element == nil {
		return nil
	}
	table.Columns = append(table.Columns, n.element.columns()...)
	table.Checks = append([]schema.Check{{Name: positionColumn, Expression: schema.Quote(positionColumn) + " >= 0"}}, n.element.checks()...)
	return n
}

func (n *listNode) encode(w *writer, v reflect.Value, row []any) ([]any, error) {
	row, err := n.count(w, v, row)
	if err != nil || v.Len() == 0 {
		return row, err
	}
	above, cells := w.above, w.cells[n.table]
	w.enter()
	for i := range v.Len() {
		w.to(i)
		start := len(cells)
		cells = append(append(cells, above...), int64(i))
		w.above = cells[start:len(cells):len(cells)]
		if cells, err = n.element.encode(w, v.Index(i), cells); err != nil {
			return nil, err
		}
	}
	w.leave()
	w.above, w.cells[n.table] = above, cells
	return row, nil
}

func (n *listNode) decode(r *reader, row []any, v reflect.Value) error {
	rows, ok, err := n.stored(r, row)
	if err != nil || !ok {
		return err
	}
	above := len(r.above)
	rows, err = inOrder(rows, above)
	if err != nil {
		return n.rebuild(&r.walk, err)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(rows), len(rows)))
	outer := r.above
	r.enter()
	for i, cells := range rows {
		r.to(i)
		r.above = cells[:above+1]
		if err := n.element.decode(r, cells[above+1:], v.Index(i)); err != nil {
			return err
		}
	}
	r.leave()
	r.above = outer
	return nil
}

// inOrder sorts rows by the position in one of their columns: 0, 1, 2 and so on.
func inOrder(rows [][]any, column int) ([][]any, error) {
	sorted := make([][]any, len(rows))
	for _, row := range rows {
		if len(row) <= column {
			return nil, errors.New("a row is too short")
		}
		position, err := asInt(row[column])
		switch {
		case err != nil:
			return nil, err
		case position < 0 || position >= int64(len(rows)):
			return nil, fmt.Errorf("position %d of %d elements", position, len(rows))
		case sorted[position] != nil:
			return nil, fmt.Errorf("position %d twice", position)
		}
		sorted[position] = row
	}
	return sorted, nil
}

func (n *listNode) validate(w *walk, v reflect.Value, problems []error) []error {
	if n.element.validated() {
		w.enter()
		for i := range v.Len() {
			w.to(i)
			problems = n.element.validate(w, v.Index(i), problems)
		}
		w.leave()
	}
	return n.validates.run(n.place, w, v, problems)
}

func (n *listNode) validated() bool { return bool(n.validates) || n.element.validated() }
