package schema

import (
	"cmp"
	"slices"
)

// Model holds all owned schemas, tables and views. The zero value is an empty
// model. Tables may stand in any order: DDL sorts them. Views keep their order,
// because one may read another.
type Model struct {
	Schemas []string // beside those of the tables and views, which are implied
	Tables  []Table
	Views   []View
}

// Table is one owned table.
type Table struct {
	Schema, Name string
	Columns      []Column
	PrimaryKey   []string // names of columns; empty: no primary key
	Uniques      []Unique
	Checks       []Check
	ForeignKeys  []ForeignKey
	Indexes      []Index
	Storage      []Parameter
	Comment      string
}

// Column is one column of a table.
type Column struct {
	Name     string
	Type     string // as format_type prints it
	NotNull  bool   // implied by Identity and by a place in the primary key
	Default  string // SQL expression as pg_get_expr prints it; empty: none
	Identity bool   // GENERATED ALWAYS AS IDENTITY
}

// Unique is a unique constraint.
type Unique struct {
	Name    string // empty: generated, see [Table.UniqueName]
	Columns []string
}

// Check is a check constraint. Its name is required and is unique within the
// table.
type Check struct {
	Name       string
	Expression string // SQL, without the outer parentheses
}

// ForeignKey is a reference to another owned table.
type ForeignKey struct {
	Name              string // empty: generated, see [Table.ForeignKeyName]
	Columns           []string
	RefSchema         string
	RefTable          string
	RefColumns        []string
	OnDelete          string // NO ACTION (also if empty), RESTRICT, CASCADE, SET NULL or SET DEFAULT
	InitiallyDeferred bool   // checked at commit instead of per statement
}

// Index is an index that belongs to no constraint.
type Index struct {
	Name    string // empty: generated, see [Table.IndexName]
	Columns []IndexColumn
	Unique  bool
	Where   string // SQL predicate of a partial index; empty: all rows
}

// IndexColumn is one key of an index: a column or an expression.
type IndexColumn struct {
	Column     string // name of a column; empty if Expression is set
	Expression string // SQL, without the outer parentheses
	Descending bool
}

// Parameter is one storage parameter, such as fillfactor or
// autovacuum_vacuum_scale_factor. The value is written as a literal.
type Parameter struct {
	Name, Value string
}

// View is an owned view.
type View struct {
	Schema, Name string
	Query        string // SELECT, without a closing semicolon
	Comment      string
}

// On names the columns of an index.
func On(columns ...string) []IndexColumn {
	keys := make([]IndexColumn, len(columns))
	for i, column := range columns {
		keys[i].Column = column
	}
	return keys
}

// Merge joins models into one, tables sorted by schema and name, views in the
// order given. What stands twice stays twice, for [Model.Validate] to report.
// The result shares no list of tables with its parts.
func Merge(models ...Model) Model {
	var all Model
	for _, m := range models {
		all.Schemas = append(all.Schemas, m.Schemas...)
		all.Tables = append(all.Tables, m.Tables...)
		all.Views = append(all.Views, m.Views...)
	}
	slices.Sort(all.Schemas)
	all.Schemas = slices.Compact(all.Schemas)
	all.Tables = sortedTables(all.Tables)
	return all
}

// AllSchemas returns the schemas that the model needs, sorted, each once.
func (m Model) AllSchemas() []string {
	names := slices.Clone(m.Schemas)
	for _, t := range m.Tables {
		names = append(names, t.Schema)
	}
	for _, v := range m.Views {
		names = append(names, v.Schema)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Required tells whether a column refuses NULL, be it by its own declaration,
// as an identity or as a part of the primary key.
func (t Table) Required(c Column) bool {
	return c.NotNull || c.Identity || slices.Contains(t.PrimaryKey, c.Name)
}

func sortedTables(tables []Table) []Table {
	sorted := slices.Clone(tables)
	slices.SortStableFunc(sorted, func(a, b Table) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}
