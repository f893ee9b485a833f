package mapping

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// mapNode is a map, or a set: a map whose values are empty structs. Its elements
// stand by their key; those of a set are the key.
type mapNode struct {
	collection
	key   node
	width int // of the key
}

// keyed returns the node of a map type.
func (b *builder) keyed(t reflect.Type, at place) node {
	above := b.table
	index, table := b.open(at)
	defer func() { b.table = above }()
	n := &mapNode{collection: newCollection(at, index, t)}
	keyAt := b.keyPlace(t, at)
	if n.key = b.keyNode(t.Key(), keyAt); n.key == nil {
		return nil
	}
	columns := n.key.columns()
	if len(columns) == 0 {
		b.report(keyAt.path, fmt.Errorf("%s has no fields", describe(t.Key())), "use a bool or a pointer instead")
		return nil
	}
	n.width = len(columns)
	table.setKey(columns)
	if n.element = b.build(t.Elem(), b.element(at)); n.element == nil {
		return nil
	}
	table.Columns = append(table.Columns, n.element.columns()...)
	table.Checks = append(n.key.checks(), n.element.checks()...)
	return n
}

// keyPlace is the place of the keys of a map; those of a set are its elements.
func (b *builder) keyPlace(t reflect.Type, at place) place {
	if t.Elem().Kind() == reflect.Struct && t.Elem().NumField() == 0 {
		return b.element(at)
	}
	return b.mapKey(at)
}

// keyNode builds a key: what stands in it must be comparable by Go and
// PostgreSQL alike.
func (b *builder) keyNode(t reflect.Type, at place) node {
	b.key = keyValue
	defer func() { b.key = noKey }()
	return b.build(t, at)
}

// maxKey bounds the texts in the positions and keys of a row: an entry of a
// PostgreSQL index holds 2,704 bytes.
const maxKey = 2000

// entry is one element of a map as it is written.
type entry struct {
	cells      []any // of the key
	key, value reflect.Value
}

func (n *mapNode) encode(w *writer, v reflect.Value, row []any) ([]any, error) {
	row, err := n.count(w, v, row)
	if err != nil || v.Len() == 0 {
		return row, err
	}
	w.enter()
	entries, err := n.entries(w, v)
	if err != nil {
		return nil, err
	}
	above, cells := w.above, w.cells[n.table]
	value := reflect.New(v.Type().Elem()).Elem()
	for _, e := range entries {
		w.toKey(e.key)
		start := len(cells)
		cells = append(append(cells, above...), e.cells...)
		w.above = cells[start:len(cells):len(cells)]
		value.Set(e.value)
		if cells, err = n.element.encode(w, value, cells); err != nil {
			return nil, err
		}
	}
	w.leave()
	w.above, w.cells[n.table] = above, cells
	return row, nil
}

// entries returns the elements by the order of their keys, so that equal maps
// yield equal rows.
func (n *mapNode) entries(w *writer, v reflect.Value) ([]entry, error) {
	entries := make([]entry, 0, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		e := entry{key: addressable(iter.Key()), value: iter.Value()}
		w.toKey(e.key)
		var err error
		if e.cells, err = n.key.encode(w, e.key, nil); err != nil {
			return nil, err
		}
		if size := textSize(w.above) + textSize(e.cells); size > maxKey {
			return nil, n.keyPlace().value(&w.walk, fmt.Errorf("keys of %d bytes", size), "an index holds 2000")
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int { return slices.CompareFunc(a.cells, b.cells, compareCell) })
	for i := 1; i < len(entries); i++ {
		if equalCells(entries[i-1].cells, entries[i].cells) {
			w.toKey(entries[i].key)
			return nil, n.keyPlace().value(&w.walk, errors.New("two keys are the same when stored"), "")
		}
	}
	return entries, nil
}

func (n *mapNode) keyPlace() place { return place{root: n.root, path: n.path + "[key]"} }

func addressable(v reflect.Value) reflect.Value {
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	return copied
}

func textSize(cells []any) int {
	size := 0
	for _, c := range cells {
		if s, ok := c.(string); ok {
			size += len(s)
		}
	}
	return size
}

// compareCell orders the driver values of one column; any order will do.
func compareCell(a, b any) int {
	switch a := a.(type) {
	case int64:
		b, _ := b.(int64)
		return cmp.Compare(a, b)
	case float64:
		b, _ := b.(float64)
		return cmp.Compare(a, b)
	case string:
		b, _ := b.(string)
		return cmp.Compare(a, b)
	case bool:
		if a == b {
			return 0
		} else if a {
			return 1
		}
		return -1
	}
	return 0
}

func (n *mapNode) decode(r *reader, row []any, v reflect.Value) error {
	rows, ok, err := n.stored(r, row)
	if err != nil || !ok {
		return err
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(rows)))
	outer := r.above
	start := len(outer)
	r.enter()
	for _, cells := range rows {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if err := n.key.decode(r, cells[start:start+n.width], key); err != nil {
			return err
		}
		r.toKey(key)
		r.above = cells[:start+n.width]
		if err := n.element.decode(r, cells[start+n.width:], value); err != nil {
			return err
		}
		v.SetMapIndex(key, value)
		r.above = outer
	}
	r.leave()
	if v.Len() != len(rows) {
		return n.rebuild(&r.walk, fmt.Errorf("%d keys in %d rows", v.Len(), len(rows)))
	}
	return nil
}

func (n *mapNode) validate(w *walk, v reflect.Value, problems []error) []error {
	if n.key.validated() || n.element.validated() {
		w.enter()
		for iter := v.MapRange(); iter.Next(); {
			key := addressable(iter.Key())
			w.toKey(key)
			problems = n.key.validate(w, key, problems)
			problems = n.element.validate(w, addressable(iter.Value()), problems)
		}
		w.leave()
	}
	return n.validates.run(n.place, w, v, problems)
}

func (n *mapNode) validated() bool {
	return bool(n.validates) || n.key.validated() || n.element.validated()
}
