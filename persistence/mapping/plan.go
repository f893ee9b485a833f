package mapping

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/tidings-go/tidings/persistence/schema"
)

// Plan maps one struct type to columns. It never changes and may be used by
// several goroutines at once.
type Plan struct {
	goType  reflect.Type
	root    *structNode
	columns []schema.Column
	checks  []schema.Check
}

// NewPlan plans a struct type; a struct without fields has no columns. The error
// joins all problems of the type and the options, each a [*FieldError] that
// wraps [ErrType].
func NewPlan(t reflect.Type, opts ...Option) (*Plan, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: no type given", ErrType)
	}
	b := newBuilder(t, opts)
	if t.Kind() != reflect.Struct || isTime(t) || isNull(t) {
		b.report("", fmt.Errorf("%s is no struct of fields", describe(t)), "wrap the value in a struct")
		return nil, errors.Join(b.problems...)
	}
	root, _ := b.build(t, place{root: b.root}).(*structNode)
	if root != nil {
		b.finish(root)
	}
	if len(b.problems) > 0 {
		return nil, errors.Join(b.problems...)
	}
	return &Plan{goType: t, root: root, columns: root.columns(), checks: root.checks()}, nil
}

// Type returns the mapped struct type.
func (p *Plan) Type() reflect.Type { return p.goType }

// Columns returns the columns, in the order of Encode and Targets.
func (p *Plan) Columns() []schema.Column { return slices.Clone(p.columns) }

// Checks returns the conditions on the columns, for the same table.
func (p *Plan) Checks() []schema.Check { return slices.Clone(p.checks) }

// Encode appends to args one driver value for each column of v, which is a value
// of the mapped type or a pointer to one. The values are int64, float64, bool,
// string, []byte (shared with v) or nil; times, uuids and numerics are text. An
// error is a [*FieldError] and wraps [ErrValue]; args are then to be thrown away.
func (p *Plan) Encode(v any, args []any) ([]any, error) {
	value, err := p.addressable(v)
	if err != nil {
		return nil, err
	}
	return p.root.encode(value, slices.Grow(args, len(p.columns)))
}

// addressable returns v itself behind a pointer, or a copy of it.
func (p *Plan) addressable(v any) (reflect.Value, error) {
	value := reflect.ValueOf(v)
	switch {
	case !value.IsValid():
		return value, p.root.value(errors.New("no value given"), "")
	case value.Type() == p.goType:
		copied := reflect.New(p.goType).Elem()
		copied.Set(value)
		return copied, nil
	case value.Type() == reflect.PointerTo(p.goType) && !value.IsNil():
		return value.Elem(), nil
	case value.Type() == reflect.PointerTo(p.goType):
		return value, p.root.value(errors.New("nil pointer given"), "")
	}
	return value, p.root.value(fmt.Errorf("%T given", v), "")
}

// Targets returns fresh scan targets for one row of all columns, to be filled by
// Scan and given to [Plan.Decode].
func (p *Plan) Targets() []any {
	cells := make([]cell, len(p.columns))
	targets := make([]any, len(cells))
	for i := range cells {
		targets[i] = &cells[i]
	}
	return targets
}

// Decode returns the value of the mapped type (not a pointer) that filled
// targets hold. Afterwards it runs Validate() error, on value or pointer, of
// every value in it and of the whole, inner ones first, so that old data meets
// today's rules; it joins their complaints. Errors are [*FieldError]s and wrap
// [ErrRebuild]. Use targets once: the value may share their bytes.
func (p *Plan) Decode(targets []any) (any, error) {
	if len(targets) != len(p.columns) {
		return nil, p.root.rebuild(fmt.Errorf("%d targets for %d columns", len(targets), len(p.columns)))
	}
	row := make([]any, len(targets))
	for i, target := range targets {
		c, ok := target.(*cell)
		if !ok || c == nil {
			return nil, p.root.rebuild(fmt.Errorf("target %d is not one of Targets", i))
		}
		row[i] = c.stored
	}
	value := reflect.New(p.goType).Elem()
	if err := p.root.decode(row, value); err != nil {
		return nil, err
	}
	if problems := p.root.validate(value, nil); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return value.Interface(), nil
}

// Equal tells whether two values of the mapped type are equal as stored: all
// NaNs are equal, 0 and -0 differ, times compare by instant, offset and zone
// name, pointers by what they point to. A value that cannot be stored equals
// none.
func (p *Plan) Equal(a, b any) bool {
	left, err := p.Encode(a, nil)
	if err != nil {
		return false
	}
	right, err := p.Encode(b, nil)
	return err == nil && slices.EqualFunc(left, right, equalStored)
}

func equalStored(a, b any) bool {
	switch a := a.(type) {
	case []byte:
		b, ok := b.([]byte)
		return ok && string(a) == string(b)
	case float64:
		b, ok := b.(float64)
		return ok && (math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b))
	}
	return a == b
}
