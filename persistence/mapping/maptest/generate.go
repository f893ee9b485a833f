package maptest

import (
	"fmt"
	"reflect"

	"pgregory.net/rapid"
)

// Short names: those of tables deep inside must fit into 63 bytes.
var genName = rapid.StringMatching(`[A-ZÄ][a-z_ß界]?`)

func genKey(t *rapid.T) reflect.Type { return rapid.SampledFrom(keyTypes).Draw(t, "key") }

// genType generates a type of all rows, up to depth wrapped ones around a plain
// one.
func genType(t *rapid.T, depth int) reflect.Type {
	if depth > 0 {
		switch rapid.IntRange(0, 11).Draw(t, "form") {
		case 0, 1:
			return GenStruct(t, depth-1, 0)
		case 2, 3:
			return reflect.PointerTo(genType(t, depth-1))
		case 4, 5:
			return slice(genType(t, depth-1))
		case 6:
			return reflect.MapOf(genKey(t), reflect.TypeFor[struct{}]())
		case 7:
			return reflect.MapOf(genKey(t), genType(t, depth-1))
		}
	}
	return rapid.SampledFrom(plainTypes()).Draw(t, "type")
}

// slice makes no bytes, which are a type of their own.
func slice(element reflect.Type) reflect.Type {
	if element.Kind() == reflect.Uint8 && element != reflect.TypeFor[Bits]() {
		element = reflect.TypeFor[uint16]()
	}
	return reflect.SliceOf(element)
}

// GenStruct generates a struct type with at least so many fields.
func GenStruct(t *rapid.T, depth, least int) reflect.Type {
	var fields []reflect.StructField
	for i, name := range rapid.SliceOfNDistinct(genName, least, 4, rapid.ID[string]).Draw(t, "names") {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("%s%d", name, i), Type: genType(t, depth)})
	}
	return reflect.StructOf(fields)
}

// chainDepth is how many lists, maps, pointers and structs stand around the
// value that a chain is about.
const chainDepth = 3

// genChain generates a type that has a given row at depth three.
func genChain(t *rapid.T, row Row) reflect.Type {
	inner := rapid.SampledFrom(plainTypes()).Draw(t, "inner")
	if row.Wrap != nil {
		inner = row.Wrap(inner, genKey(t))
		if row.Name == "[]T" {
			inner = slice(inner.Elem())
		}
	} else {
		inner = rapid.SampledFrom(row.Types).Draw(t, "type")
	}
	for range chainDepth - 1 {
		switch rapid.IntRange(0, 3).Draw(t, "around") {
		case 0:
			inner = reflect.PointerTo(inner)
		case 1:
			inner = slice(inner)
		case 2:
			inner = reflect.MapOf(genKey(t), inner)
		default:
			inner = reflect.StructOf([]reflect.StructField{{Name: "In", Type: inner}})
		}
	}
	return inner
}
