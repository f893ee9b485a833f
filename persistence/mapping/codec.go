package mapping

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tidings-go/tidings/persistence/schema"
)

// codec turns values of one type into their representation and back, both by
// address and erased.
type codec struct {
	representation reflect.Type
	out            func(value any) (representation any)        // *T to *R
	in             func(representation, value any) (err error) // *R, into *T
}

// Codec registers how values of T are stored: as what out returns, in the columns
// that R has. in is their constructor; it runs when a stored value is rebuilt, so
// that old data meets today's rules, and its error makes the rebuilding fail. It
// runs at emit too: a value that in would not take back, or that comes back
// another, is refused before anything is written.
//
// Neither function may change what it is given, and both may run in several
// goroutines at once. A panic in one is an error of the value.
func Codec[T, R any](out func(T) R, in func(R) (T, error)) Registration {
	n := Registration{typ: reflect.TypeFor[T]()}
	if out == nil || in == nil {
		n.problem = errors.New("a function is nil")
	} else {
		n.problem = named(n.typ)
	}
	n.codec = &codec{
		representation: reflect.TypeFor[R](),
		out: func(value any) any {
			r := out(*value.(*T))
			return &r
		},
		in: func(representation, value any) error {
			t, err := in(*representation.(*R))
			if err == nil {
				*value.(*T) = t
			}
			return err
		},
	}
	return n
}

// codecNode is a value that is stored as its representation.
type codecNode struct {
	place
	codec       *codec
	inner       node
	first, last int // the tables of the representation
	key         bool
	validates   validation
}

// coded returns the node of a type with a codec.
func (b *builder) coded(c *codec, t reflect.Type, at place) node {
	n := &codecNode{place: at, codec: c, key: b.key == keyValue, first: len(b.tables), validates: validationOf(t)}
	if b.key == keyValue {
		b.key = keyStore
		defer func() { b.key = keyValue }()
	}
	if n.inner = b.build(c.representation, at); n.inner == nil {
		return nil
	}
	n.last = len(b.tables)
	return n
}

func (n *codecNode) columns() []schema.Column { return n.inner.columns() }
func (n *codecNode) checks() []schema.Check   { return n.inner.checks() }

func (n *codecNode) encode(w *writer, v reflect.Value, row []any) ([]any, error) {
	representation, err := n.represent(v)
	if err != nil {
		return nil, n.value(&w.walk, err, "")
	}
	back := reflect.New(v.Type()).Elem()
	if err := n.construct(representation, back); err != nil {
		return nil, n.value(&w.walk, fmt.Errorf("its codec does not take back what it gave: %w", err), "")
	}
	if n.key && !equalKeys(v, back) {
		return nil, n.value(&w.walk, errors.New("its codec gives back a key that does not equal it (==)"), "")
	}
	again, err := n.represent(back)
	if err != nil {
		return nil, n.value(&w.walk, err, "")
	}
	probe := newWriter(len(w.cells))
	probe.steps, probe.above = w.steps, w.above
	want, err := n.inner.encode(probe, again, nil)
	if err != nil {
		return nil, err
	}
	start, starts := len(row), make([]int, n.last-n.first)
	for i := range starts {
		starts[i] = len(w.cells[n.first+i])
	}
	if row, err = n.inner.encode(w, representation, row); err != nil {
		return nil, err
	}
	same := equalCells(row[start:], want)
	for i, from := range starts {
		same = same && equalCells(w.cells[n.first+i][from:], probe.cells[n.first+i])
	}
	if !same {
		return nil, n.value(&w.walk, errors.New("its codec gives back another value"), "")
	}
	return row, nil
}

// represent returns the representation of a value.
func (n *codecNode) represent(v reflect.Value) (r reflect.Value, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic in its codec: %v", cause)
		}
	}()
	return reflect.ValueOf(n.codec.out(pointer(v))).Elem(), nil
}

// construct sets a value to what the codec makes of a representation.
func (n *codecNode) construct(representation, v reflect.Value) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic in its codec: %v", cause)
		}
	}()
	return n.codec.in(pointer(representation), pointer(v))
}

func equalKeys(a, b reflect.Value) (equal bool) {
	defer func() { _ = recover() }() // an interface that holds what cannot be compared
	return a.Interface() == b.Interface()
}

func (n *codecNode) decode(r *reader, row []any, v reflect.Value) error {
	representation := reflect.New(n.codec.representation).Elem()
	if err := n.inner.decode(r, row, representation); err != nil {
		return err
	}
	if err := n.construct(representation, v); err != nil {
		return n.rebuild(&r.walk, err)
	}
	return nil
}

func (n *codecNode) validate(w *walk, v reflect.Value, problems []error) []error {
	return n.validates.run(n.place, w, v, problems)
}

func (n *codecNode) validated() bool { return bool(n.validates) }
