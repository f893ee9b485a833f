package mapping

import (
	"bytes"
	"math"
)

// Rows is one value as rows of its plan's tables.
type Rows struct {
	plan  *Plan
	cells [][]any // by table, row after row
}

// Root returns the driver values of the value's own row, in the order of the
// first table's columns.
func (r *Rows) Root() []any { return r.cells[0] }

// Len returns how many rows a table gets.
func (r *Rows) Len(table int) int {
	width := len(r.plan.tables[table].Columns)
	if table == 0 {
		return 1
	}
	return len(r.cells[table]) / width
}

// writer collects the rows of one value.
type writer struct {
	walk
	above []any // the keys of the row being written, as the tables below repeat them
	cells [][]any
}

func newWriter(tables int) *writer {
	return &writer{walk: walk{kind: ErrValue}, cells: make([][]any, tables)}
}

// equalCells compares driver values as stored: all NaNs are equal, 0 and -0
// differ.
func equalCells(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equalCell(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equalCell(a, b any) bool {
	switch a := a.(type) {
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case float64:
		b, ok := b.(float64)
		return ok && (math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b))
	}
	return a == b
}
