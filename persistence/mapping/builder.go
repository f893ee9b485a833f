package mapping

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tidings-go/tidings/persistence/schema"
)

const (
	wayOutType = "use a supported type: bool, numbers, string, []byte, [16]byte, time, decimal, slices, maps and structs of them, " +
		"pointers and sql.Null, or register a codec with persistence.Codec"
	wayOutCodec = "register a codec for it with persistence.Codec, export the fields, or keep the value's representation (for example its text) in the event"
	wayOutName  = `choose another column name with persistence.Column(%q, "shorter")`
	wayOutTable = `choose another name with persistence.Column(%q, "shorter")`
)

// maxSize bounds the work: a few nested types make a tree of any size. A struct
// with all columns that PostgreSQL allows has fewer values, unless most of them
// have no column at all.
const maxSize = 10 * schema.MaxColumns

// builder grows the tree of one type and collects every problem on the way.
type builder struct {
	root     string
	registry *Registry
	renames  map[string]*rename
	reserved map[string]string // column name of the first table: who has it
	prefix   string            // of the names of the other tables
	stack    []reflect.Type    // structs, pointers and collections around the current value
	size     int               // values so far
	tables   []*Table
	table    int // the one that the current value's columns are in
	key      keyMode
	problems []error
}

func newBuilder(t reflect.Type, opts []Option) *builder {
	b := &builder{root: t.String(), renames: map[string]*rename{}, reserved: map[string]string{}, tables: []*Table{{parent: -1}}}
	for _, opt := range opts {
		if opt != nil {
			opt.apply(b)
		}
	}
	return b
}

func (b *builder) report(path string, err error, wayOut string) {
	b.problems = append(b.problems, place{root: b.root}.problem(path, ErrType, err, wayOut))
}

// build returns the node of a type, or nil after reporting why there is none.
func (b *builder) build(t reflect.Type, at place) node {
	if b.size++; b.size > maxSize {
		return nil // finish says so
	}
	if why := b.key.objection(t); why != "" {
		b.report(at.path, fmt.Errorf("%s is a key or a part of one, %s", describe(t), why),
			"make the key a string, a number, an id or a struct of them")
		return nil
	}
	registered := b.registry.find(t)
	if registered != nil && registered.enum != nil {
		return &leaf{place: at, kind: registered.enum.kind(), validates: validationOf(t)}
	}
	if registered == nil {
		if n := b.simple(t, at); n != nil {
			return n
		}
	}
	if slices.Contains(b.stack, t) {
		b.report(at.path, fmt.Errorf("%s contains itself", t), "refer to the other value by its id")
		return nil
	}
	b.stack = append(b.stack, t)
	defer func() { b.stack = b.stack[:len(b.stack)-1] }()
	if registered != nil {
		return b.coded(registered.codec, t, at)
	}
	return b.composite(t, at)
}

// simple returns the node of a type that holds no other values, or nil.
func (b *builder) simple(t reflect.Type, at place) node {
	switch {
	case isTime(t):
		return &timeNode{place: at, key: b.key == keyValue, validates: validationOf(t)}
	case t.ConvertibleTo(bigIntType) && t.Kind() == reflect.Struct:
		return &leaf{place: at, kind: bigInteger, validates: validationOf(t)}
	case t.ConvertibleTo(decimalType) && t.Kind() == reflect.Struct:
		return &decimalNode{place: at, validates: validationOf(t)}
	}
	if k, ok := kindOf(t); ok && !b.bytesOfCodes(t) {
		if b.key == keyValue && (t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64) {
			k = withoutNaN(k)
		}
		return &leaf{place: at, kind: k, validates: validationOf(t)}
	}
	return nil
}

// bytesOfCodes says whether t looks like bytes and its elements are registered.
func (b *builder) bytesOfCodes(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && b.registry.find(t.Elem()) != nil
}

// composite returns the node of a type that holds other values.
func (b *builder) composite(t reflect.Type, at place) node {
	switch {
	case t.Kind() == reflect.Pointer:
		return b.optional(t.Elem(), at, true)
	case isNull(t):
		return b.optional(t.Field(0).Type, at, false)
	case t.Kind() == reflect.Slice:
		return b.list(t, at)
	case t.Kind() == reflect.Map:
		return b.keyed(t, at)
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
	if hidden := b.hiddenFields(t); len(hidden) > 0 {
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
	}
	if at.name != "" && !at.bare {
		inner.name = at.name + "." + field
	}
	return b.renamed(inner)
}

// renamed gives a place the column name that the app chose for it.
func (b *builder) renamed(at place) place {
	if r := b.renames[at.path]; r != nil {
		at.name, at.bare, r.used = r.name, false, true
	}
	return at
}
