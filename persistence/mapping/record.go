package mapping

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Record collects the stored rows of one value, for [Plan.Decode]. Fill it from
// the first table to the last: a row of the first table first.
type Record struct {
	plan *Plan
	rows [][][]any // by table
}

// NewRecord returns an empty record.
func (p *Plan) NewRecord() *Record { return &Record{plan: p, rows: make([][][]any, len(p.tables))} }

// Targets returns fresh scan targets for one row of a table, to be filled by Scan
// and given to [Record.Add].
func (p *Plan) Targets(table int) []any {
	cells := make([]cell, len(p.tables[table].Columns))
	targets := make([]any, len(cells))
	for i := range cells {
		targets[i] = &cells[i]
	}
	return targets
}

// Add adds a row: targets of the table after Scan. The record keeps them.
func (r *Record) Add(table int, targets []any) {
	for i, target := range targets {
		c, ok := target.(*cell)
		if !ok || c == nil {
			targets[i] = unscanned{i}
			continue
		}
		targets[i] = c.stored
	}
	r.rows[table] = append(r.rows[table], targets)
}

// unscanned stands for a target that is none of Targets: no column takes it.
type unscanned struct{ target int }

// Expects says whether the record needs rows of a table: whether a row that it
// already has says that a list or map there is not empty. Ask it for the tables
// in their order, after adding the rows of those before.
func (r *Record) Expects(table int) bool {
	t := &r.plan.tables[table]
	if table == 0 {
		return true
	}
	for _, row := range r.rows[t.parent] {
		if t.count < len(row) && row[t.count] != nil {
			if n, err := asInt(row[t.count]); err != nil || n != 0 {
				return true
			}
		}
	}
	return false
}

// reader hands the rows of a record to the nodes.
type reader struct {
	walk
	record *Record
	above  []any                // the keys of the row being read
	groups []map[string][][]any // by table: rows by the keys above
	taken  []int                // by table: rows handed out
}

func newReader(r *Record) *reader {
	tables := len(r.plan.tables)
	return &reader{walk: walk{kind: ErrRebuild}, record: r, groups: make([]map[string][][]any, tables), taken: make([]int, tables)}
}

// below returns the rows of a table that belong to the row being read.
func (r *reader) below(table int) [][]any {
	rows := r.record.rows[table]
	if len(r.above) > 0 && len(rows) > 0 {
		if r.groups[table] == nil {
			groups := map[string][][]any{}
			for _, row := range rows {
				key := keyOf(row[:len(r.above)])
				groups[key] = append(groups[key], row)
			}
			r.groups[table] = groups
		}
		rows = r.groups[table][keyOf(r.above)]
	}
	r.taken[table] += len(rows)
	return rows
}

// leftover names a table with rows that belong to no value, or -1.
func (r *reader) leftover() int {
	for table := 1; table < len(r.taken); table++ {
		if r.taken[table] != len(r.record.rows[table]) {
			return table
		}
	}
	return -1
}

// keyOf joins driver values to a text that is the same for the same values of
// one driver.
func keyOf(cells []any) string {
	var key []byte
	for _, c := range cells {
		switch c := c.(type) {
		case int64:
			key = binary.AppendVarint(append(key, 'i'), c)
		case string:
			key = append(binary.AppendUvarint(append(key, 's'), uint64(len(c))), c...)
		case []byte:
			key = append(binary.AppendUvarint(append(key, 's'), uint64(len(c))), c...)
		case float64:
			key = binary.BigEndian.AppendUint64(append(key, 'f'), math.Float64bits(c))
		case time.Time:
			key = binary.AppendVarint(binary.AppendVarint(append(key, 't'), c.Unix()), int64(c.Nanosecond()))
		default:
			key = fmt.Appendf(key, "%T %v ", c, c)
		}
	}
	return string(key)
}
