package mapping

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidings-go/tidings/persistence/schema"
)

// Table is one of the tables that hold the values of a type: the first has a row
// for each value, every other the elements of one list, set or map.
//
// The columns of the others begin with the positions and keys of the levels
// above, then their own; who stores them puts the identity of the value in
// front, the same for all rows of a value.
type Table struct {
	Path    string          // Go path of the list, set or map; empty: the value itself
	Name    string          // by the path, such as Lines.Tags; empty: the value itself
	Columns []schema.Column // in the order of the rows
	Checks  []schema.Check
	Key     []string // columns that identify a row within the value, in order

	parent  int             // position of the table whose rows these elements are in, or -1
	counter string          // column of the parent's rows that says how many elements there are
	count   int             // its position
	handed  []schema.Column // the key's columns as the tables below repeat them
}

const (
	countColumn    = "@count:"
	positionColumn = "@position"
	keyColumn      = "@key"
	valueColumn    = "@value"
)

// open starts a table for the elements of the collection at a place, and close
// ends it. In between the builder builds what goes into it.
func (b *builder) open(at place) (index int, table *Table) {
	above := b.tables[b.table]
	name := at.name
	switch {
	case at.bare:
		name = above.Name + "[]" // the elements of the elements
	case above.Name != "":
		name = above.Name + "." + name
	}
	table = &Table{Path: at.path, Name: name, parent: b.table, counter: countColumn + at.name}
	table.Columns = append(table.Columns, above.handed...)
	b.tables = append(b.tables, table)
	b.table = len(b.tables) - 1
	return b.table, table
}

// setKey adds the columns of the table's own level. The tables below call them
// @position:Lines and @key:Prices.
func (t *Table) setKey(columns []schema.Column) {
	t.handed = append([]schema.Column(nil), t.Columns...)
	t.Columns = append(t.Columns, columns...)
	for _, c := range columns {
		c.Name = handedName(c.Name, t.Name)
		t.handed = append(t.handed, c)
	}
	for _, c := range t.Columns {
		t.Key = append(t.Key, c.Name)
	}
}

func handedName(column, table string) string {
	for _, stem := range []string{positionColumn, keyColumn} {
		if before, after, found := strings.Cut(column, stem); found {
			return before + stem + ":" + table + after
		}
	}
	return keyColumn + ":" + table + "." + column // a key that the app named
}

// element is the place of the elements of the collection at a place, keyOf that
// of the keys of a map.
func (b *builder) element(at place) place {
	return b.renamed(place{root: at.root, path: at.path + "[]", name: valueColumn, bare: true})
}

func (b *builder) mapKey(at place) place {
	return b.renamed(place{root: at.root, path: at.path + "[key]", name: keyColumn})
}

// maxKeyColumns is how many columns an index may have, less one for the identity
// of the value.
const maxKeyColumns = 32 - 1

// maxRow is what a row may have: a page without its head, the row's head with a
// bit for each column, and the columns of whoever stores the rows.
const maxRow = 8192 - 32 - 24 - schema.MaxColumns/8 - 136

// rowWidth is how many bytes the columns take if all have a value: PostgreSQL
// moves texts and the like elsewhere, but none of 24 bytes or less.
func rowWidth(columns []schema.Column) int {
	width := 0
	for _, c := range columns {
		size, align := 24, 4
		switch c.Type {
		case "boolean":
			size, align = 1, 1
		case "smallint":
			size, align = 2, 2
		case "integer", "real":
			size, align = 4, 4
		case "bigint", "double precision", "timestamp with time zone":
			size, align = 8, 8
		case "uuid":
			size, align = 16, 1
		}
		width = (width+align-1)/align*align + size
	}
	return width
}

// finish checks the names and sizes that the tree arrived at.
func (b *builder) finish(root node) {
	for i, t := range b.tables {
		most := schema.MaxColumns
		if i > 0 {
			most-- // the identity of the value
		}
		if b.size > maxSize || len(t.Columns) > most {
			b.report(t.Path, fmt.Errorf("more than the %d columns that PostgreSQL allows", schema.MaxColumns), "split the type")
			return
		}
		if width := rowWidth(t.Columns); width > maxRow {
			b.report(t.Path, fmt.Errorf("its rows may have %d bytes, a page of PostgreSQL holds %d of them", width, maxRow), "split the type, or put the values into a list or map")
		}
		if len(t.Key) > maxKeyColumns {
			b.report(t.Path, fmt.Errorf("positions and keys have %d columns, an index of PostgreSQL holds %d", len(t.Key), maxKeyColumns),
				"use keys of fewer fields, or nest less deeply")
		}
	}
	names := newNames(b)
	names.node(root, 0)
	for _, path := range sortedKeys(b.renames) {
		if !b.renames[path].used {
			b.report(path, errors.New("Column: the type has no such field"),
				"write Go field names joined by dots, with [] for an element and [key] for a key")
		}
	}
}
