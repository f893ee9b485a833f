package mapping

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tidings-go/tidings/persistence/schema"
)

const (
	wayOutType  = "use a supported type: bool, numbers, string, []byte, [16]byte, time, structs of them, pointers and sql.Null"
	wayOutCodec = "export the fields, or keep the value's representation (for example its text) in the event"
	wayOutName  = `choose another column name with persistence.Column(%q, "shorter")`
)

// maxSize bounds the work: a few nested types make a tree of any size. A struct
// with all columns that PostgreSQL allows has fewer values, unless most of them
// have no column at all.
const maxSize = 10 * schema.MaxColumns

// builder grows the tree of one type and collects every problem on the way.
type builder struct {
	root     string
	renames  map[string]*rename
	taken    map[string]string // column name: who has it
	stack    []reflect.Type    // structs and pointers around the current value
	size     int               // values so far
	problems []error
}

func newBuilder(t reflect.Type, opts []Option) *builder {
	b := &builder{root: t.String(), renames: map[string]*rename{}, taken: map[string]string{}}
	for _, opt := range opts {
		if opt != nil {
			opt.apply(b)
		}
	}
	return b
}

func (b *builder) report(path string, err error, wayOut string) {
	b.problems = append(b.problems, place{root: b.root, path: path}.problem(ErrType, err, wayOut))
}

// build returns the node of a type, or nil after reporting why there is none.
func (b *builder) build(t reflect.Type, at place) node {
	if b.size++; b.size > maxSize {
		return nil // finish says so
	}
	if k, ok := kindOf(t); ok {
		return &leaf{place: at, kind: k, validates: validationOf(t)}
	}
	if slices.Contains(b.stack, t) {
		b.report(at.path, fmt.Errorf("%s contains itself", t), "refer to the other value by its id")
		return nil
	}
	b.stack = append(b.stack, t)
	defer func() { b.stack = b.stack[:len(b.stack)-1] }()
	switch {
	case isTime(t):
		return &timeNode{place: at, validates: validationOf(t)}
	case t.Kind() == reflect.Pointer:
		return b.optional(t.Elem(), at, true)
	case isNull(t):
		return b.optional(t.Field(0).Type, at, false)
	case t.Kind() == reflect.Struct:
		return b.structure(t, at)
	}
	b.report(at.path, fmt.Errorf("%s is not supported", describe(t)), wayOutType)
	return nil
}

func (b *builder) optional(inner reflect.Type, at place, pointer bool) node {
	if n := b.build(inner, at); n != nil {
		return newOptional(at, n, pointer)
	}
	return nil
}

func (b *builder) structure(t reflect.Type, at place) node {
	if hidden := hiddenFields(t); len(hidden) > 0 {
		b.report(at.path, fmt.Errorf("%s has unexported fields: %s", t, strings.Join(hidden, ", ")), wayOutCodec)
		return nil
	}
	if embedded := embeddedValidator(t); embedded != "" {
		b.report(at.path, fmt.Errorf("%s embeds the pointer %s, and a Validate that calls it panics on nil", t, embedded),
			"embed the value, or give the field a name")
		return nil
	}
	s := &structNode{place: at, validates: validationOf(t)}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Name == "_" {
			continue
		}
		if n := b.build(field.Type, b.below(at, field.Name)); n != nil {
			s.add(i, n)
		}
		if b.size > maxSize {
			break
		}
	}
	return s
}

// below is the place of a field in the struct at a place.
func (b *builder) below(at place, field string) place {
	inner := place{root: at.root, path: field, name: field}
	if at.path != "" {
		inner.path = at.path + "." + field
		inner.name = at.name + "." + field
	}
	if r := b.renames[inner.path]; r != nil {
		inner.name, r.used = r.name, true
	}
	return inner
}

// finish checks the names that the tree arrived at.
func (b *builder) finish(root *structNode) {
	if b.size > maxSize || len(root.all) > schema.MaxColumns {
		b.report("", fmt.Errorf("more than the %d columns that PostgreSQL allows", schema.MaxColumns), "split the type")
		return
	}
	for _, f := range root.fields {
		b.names(f.node)
	}
	for _, path := range sortedKeys(b.renames) {
		if !b.renames[path].used {
			b.report(path, errors.New("Column: the type has no such field"), "write Go field names joined by dots")
		}
	}
}

func (b *builder) names(n node) {
	switch n := n.(type) {
	case *structNode:
		for _, f := range n.fields {
			b.names(f.node)
		}
	case *optionalNode:
		if n.own {
			b.claim(n.all[0].Name, n.path)
		}
		b.names(n.inner)
	case *leaf:
		b.claim(n.name, n.path)
	case *timeNode:
		for _, c := range n.columns() {
			b.claim(c.Name, n.path)
		}
	}
}

func (b *builder) claim(column, path string) {
	wayOut := fmt.Sprintf(wayOutName, path)
	if err := schema.CheckColumnName(column); err != nil {
		b.report(path, fmt.Errorf("column %w", err), wayOut)
		return
	}
	if owner, ok := b.taken[column]; ok {
		b.report(path, fmt.Errorf("column name %q is taken by %s", column, owner), wayOut)
		return
	}
	b.taken[column] = path
}
