package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Canonical returns the model in the form in which snapshots hold it: generated
// names spelt out, NOT NULL set wherever it is implied, everything that has no
// order of its own sorted by name. Two models that make the same tables have the
// same canonical form, except for the order of columns, which is kept.
func (m Model) Canonical() Model {
	c := Model{Schemas: m.AllSchemas(), Tables: sortedTables(m.Tables), Views: slices.Clone(m.Views)}
	for i, t := range c.Tables {
		c.Tables[i] = t.canonical()
	}
	return c
}

func (t Table) canonical() Table {
	t.Columns = slices.Clone(t.Columns)
	for i, c := range t.Columns {
		t.Columns[i].NotNull = t.Required(c)
	}
	t.Uniques = slices.Clone(t.Uniques)
	for i, u := range t.Uniques {
		t.Uniques[i].Name = t.UniqueName(u)
	}
	t.ForeignKeys = slices.Clone(t.ForeignKeys)
	for i, f := range t.ForeignKeys {
		t.ForeignKeys[i].Name = t.ForeignKeyName(f)
		if f.OnDelete == "NO ACTION" {
			t.ForeignKeys[i].OnDelete = ""
		}
	}
	t.Indexes = slices.Clone(t.Indexes)
	for i, x := range t.Indexes {
		t.Indexes[i].Name = t.IndexName(x)
	}
	t.Checks, t.Storage = slices.Clone(t.Checks), slices.Clone(t.Storage)
	byName(t.Uniques, func(u Unique) string { return u.Name })
	byName(t.ForeignKeys, func(f ForeignKey) string { return f.Name })
	byName(t.Indexes, func(x Index) string { return x.Name })
	byName(t.Checks, func(c Check) string { return c.Name })
	byName(t.Storage, func(p Parameter) string { return p.Name })
	return t
}

func byName[T any](list []T, name func(T) string) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
}

// MarshalCanonical returns v as JSON whose bytes depend on the value alone:
// indented, keys in the order of the fields, nothing escaped that need not be.
func MarshalCanonical(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode canonically: %w", err)
	}
	return b.Bytes(), nil
}

// Find returns the table with this name.
func (m Model) Find(schema, name string) (Table, bool) {
	for _, t := range m.Tables {
		if t.Schema == schema && t.Name == name {
			return t, true
		}
	}
	return Table{}, false
}

// Column returns the column with this name.
func (t Table) Column(name string) (Column, bool) {
	for _, c := range t.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}
