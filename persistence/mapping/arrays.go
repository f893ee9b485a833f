package mapping

import (
	"encoding/hex"
	"iter"
	"math"
	"strconv"
	"strings"
)

// How much one statement inserts at most: enough that the round trip no longer
// counts, little enough that a list of any length needs little memory at once.
const (
	maxBatchRows  = 10_000
	maxBatchBytes = 4 << 20
)

// Batches yields the rows of a table as arguments of statements: for each column
// one array in PostgreSQL's text form, which both drivers hand on as it is, for
// unnest. So the number of rows does not count against the 65,535 parameters of a
// statement, and one prepared statement serves any number. Nothing is yielded for
// no rows. It is not for the first table.
func (r *Rows) Batches(table int) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		cells, width := r.cells[table], len(r.plan.tables[table].Columns)
		arrays := make([]array, width)
		rows := 0
		for start := 0; start < len(cells); start += width {
			size := 0
			for i := range arrays {
				arrays[i].add(cells[start+i])
				size += len(arrays[i].text)
			}
			rows++
			if rows < maxBatchRows && size < maxBatchBytes && start+width < len(cells) {
				continue
			}
			args := make([]any, width)
			for i := range arrays {
				args[i] = arrays[i].take()
			}
			if !yield(args) {
				return
			}
			rows = 0
		}
	}
}

// array grows an array in PostgreSQL's text form.
type array struct{ text []byte }

func (a *array) add(cell any) {
	separator := byte(',')
	if len(a.text) == 0 {
		separator = '{'
	}
	a.text = append(a.text, separator)
	switch c := cell.(type) {
	case nil:
		a.text = append(a.text, "NULL"...)
	case bool:
		a.text = strconv.AppendBool(a.text, c)
	case int64:
		a.text = strconv.AppendInt(a.text, c, 10)
	case float64:
		a.text = appendFloat(a.text, c)
	case string:
		a.text = append(a.text, '"')
		a.text = append(a.text, arrayEscapes.Replace(c)...)
		a.text = append(a.text, '"')
	case []byte:
		a.text = append(a.text, `"\\x`...)
		a.text = hex.AppendEncode(a.text, c)
		a.text = append(a.text, '"')
	}
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func appendFloat(text []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(text, "Infinity"...)
	case math.IsInf(f, -1):
		return append(text, "-Infinity"...)
	}
	return strconv.AppendFloat(text, f, 'g', -1, 64) // NaN is spelt alike
}

// take returns the array and begins a new one.
func (a *array) take() string {
	text := string(append(a.text, '}'))
	a.text = a.text[:0]
	return text
}
