package mapping

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/tidings-go/tidings/persistence/schema"
)

// Plan maps one struct type to tables. It never changes and may be used by
// several goroutines at once.
type Plan struct {
	goType reflect.Type
	root   node
	at     place
	tables []Table
}

// NewPlan plans a struct type; a struct without fields has no columns. The error
// joins all problems of the type and the options, each a [*FieldError] that
// wraps [ErrType].
func NewPlan(t reflect.Type, opts ...Option) (*Plan, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: no type given", ErrType)
	}
	b := newBuilder(t, opts)
	if !b.isRecord(t) {
		b.report("", fmt.Errorf("%s is no struct of fields", describe(t)), "wrap the value in a struct")
		return nil, errors.Join(b.problems...)
	}
	at := place{root: b.root}
	root := b.build(t, at)
	if root != nil {
		b.tables[0].Columns = root.columns()
		b.finish(root)
	}
	if len(b.problems) > 0 {
		return nil, errors.Join(b.problems...)
	}
	b.tables[0].Checks = slices.Clip(root.checks())
	return &Plan{goType: t, root: root, at: at, tables: b.finished()}, nil
}

// isRecord says whether a type, or what its codec makes of it, is a struct of
// fields: something whose columns have names.
func (b *builder) isRecord(t reflect.Type) bool {
	var seen []reflect.Type
	for n := b.registry.find(t); n != nil; n = b.registry.find(t) {
		if n.codec == nil || slices.Contains(seen, t) {
			return false
		}
		seen, t = append(seen, t), n.codec.representation
	}
	return t.Kind() == reflect.Struct && b.simple(t, place{}) == nil && !isNull(t)
}

// finished returns the tables, each knowing where its parent counts its rows.
func (b *builder) finished() []Table {
	tables := make([]Table, len(b.tables))
	for i, t := range b.tables {
		tables[i] = *t
		if i > 0 {
			tables[i].count = slices.IndexFunc(tables[t.parent].Columns, func(c schema.Column) bool { return c.Name == t.counter })
		}
	}
	return tables
}

// Type returns the mapped struct type.
func (p *Plan) Type() reflect.Type { return p.goType }

// Tables returns the tables: first that of the value itself, then those of its
// lists, sets and maps, outer ones before inner ones. It must not be changed.
func (p *Plan) Tables() []Table { return p.tables }

// Encode returns v, a value of the mapped type or a pointer to one, as rows. The
// cells are int64, float64, bool, string, []byte (shared with v) or nil; times,
// uuids and numerics are text. Maps are written by the order of their keys. An
// error wraps [ErrValue] and is a [*FieldError] or joins some: v cannot be stored
// without loss, or it is one that Decode would refuse by its Validate methods.
func (p *Plan) Encode(v any) (*Rows, error) {
	value, err := p.addressable(v)
	if err != nil {
		return nil, err
	}
	w := newWriter(len(p.tables))
	if p.root.validated() {
		if problems := p.root.validate(&w.walk, value, nil); len(problems) > 0 {
			return nil, errors.Join(problems...)
		}
	}
	row, err := p.root.encode(w, value, make([]any, 0, len(p.tables[0].Columns)))
	if err != nil {
		return nil, err
	}
	w.cells[0] = row
	return &Rows{plan: p, cells: w.cells}, nil
}

// addressable returns v itself behind a pointer, or a copy of it.
func (p *Plan) addressable(v any) (reflect.Value, error) {
	value := reflect.ValueOf(v)
	var err error
	switch {
	case !value.IsValid():
		err = errors.New("no value given")
	case value.Type() == p.goType:
		return addressable(value), nil
	case value.Type() == reflect.PointerTo(p.goType) && !value.IsNil():
		return value.Elem(), nil
	case value.Type() == reflect.PointerTo(p.goType):
		err = errors.New("nil pointer given")
	default:
		err = fmt.Errorf("%T given", v)
	}
	return value, p.at.value(&walk{}, err, "")
}

// Decode returns the value of the mapped type (not a pointer) that the rows of a
// record hold. Afterwards it runs Validate() error, on value or pointer, of every
// value in it and of the whole, inner ones first, so that old data meets today's
// rules; it joins their complaints. Errors are [*FieldError]s and wrap
// [ErrRebuild]. Use a record once: the value may share its bytes.
func (p *Plan) Decode(record *Record) (any, error) {
	r := newReader(record)
	if err := p.complete(record); err != nil {
		return nil, p.at.rebuild(&r.walk, err)
	}
	value := reflect.New(p.goType).Elem()
	if err := p.root.decode(r, record.rows[0][0], value); err != nil {
		return nil, err
	}
	if table := r.leftover(); table >= 0 {
		at := place{root: p.at.root, path: p.tables[table].Path}
		return nil, at.rebuild(&walk{}, errors.New("there are more rows than elements"))
	}
	if problems := p.root.validate(&r.walk, value, nil); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return value.Interface(), nil
}

// complete makes sure that the rows have the shape of the tables.
func (p *Plan) complete(record *Record) error {
	if record.plan != p || len(record.rows[0]) != 1 {
		return fmt.Errorf("%d rows of the value itself", len(record.rows[0]))
	}
	for table, rows := range record.rows {
		for _, row := range rows {
			if want := len(p.tables[table].Columns); len(row) != want {
				return fmt.Errorf("%d targets for %d columns", len(row), want)
			}
		}
	}
	return nil
}

// Equal tells whether two values of the mapped type are equal as stored: all
// NaNs are equal, 0 and -0 differ, times compare by instant, offset and zone
// name, pointers by what they point to. A value that cannot be stored equals
// none.
func (p *Plan) Equal(a, b any) bool {
	left, err := p.Encode(a)
	if err != nil {
		return false
	}
	right, err := p.Encode(b)
	return err == nil && slices.EqualFunc(left.cells, right.cells, equalCells)
}
