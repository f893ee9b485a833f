package schema

import (
	"cmp"
	"slices"
)

// Model holds all owned schemas, tables and views. The zero value is an empty
// model. Tables may stand in any order: DDL sorts them. Views keep their order,
// because one may read another.
type Model struct {
	Schemas []string `json:"schemas,omitempty"` // beside those of the tables and views, which are implied
	Tables  []Table  `json:"tables,omitempty"`
	Views   []View   `json:"views,omitempty"`
}

// Table is one owned table.
type Table struct {
	Schema      string       `json:"schema"`
	Name        string       `json:"name"`
	Columns     []Column     `json:"columns,omitempty"`
	PrimaryKey  []string     `json:"primaryKey,omitempty"` // names of columns; empty: no primary key
	Uniques     []Unique     `json:"uniques,omitempty"`
	Checks      []Check      `json:"checks,omitempty"`
	ForeignKeys []ForeignKey `json:"foreignKeys,omitempty"`
	Indexes     []Index      `json:"indexes,omitempty"`
	Storage     []Parameter  `json:"storage,omitempty"`
	Comment     string       `json:"comment,omitempty"`
}

// Column is one column of a table.
type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`               // as format_type prints it
	NotNull  bool   `json:"notNull,omitempty"`  // implied by Identity and by a place in the primary key
	Default  string `json:"default,omitempty"`  // SQL expression as pg_get_expr prints it; empty: none
	Identity bool   `json:"identity,omitempty"` // GENERATED ALWAYS AS IDENTITY
}

// Unique is a unique constraint.
type Unique struct {
	Name    string   `json:"name,omitempty"` // empty: generated, see [Table.UniqueName]
	Columns []string `json:"columns"`
}

// Check is a check constraint. Its name is required and is unique within the
// table.
type Check struct {
	Name       string `json:"name"`
	Expression string `json:"expression"` // SQL, without the outer parentheses
}

// ForeignKey is a reference to another owned table.
type ForeignKey struct {
	Name              string   `json:"name,omitempty"` // empty: generated, see [Table.ForeignKeyName]
	Columns           []string `json:"columns"`
	RefSchema         string   `json:"refSchema"`
	RefTable          string   `json:"refTable"`
	RefColumns        []string `json:"refColumns"`
	OnDelete          string   `json:"onDelete,omitempty"`          // NO ACTION (also if empty), RESTRICT, CASCADE, SET NULL or SET DEFAULT
	InitiallyDeferred bool     `json:"initiallyDeferred,omitempty"` // checked at commit instead of per statement
}

// Index is an index that belongs to no constraint.
type Index struct {
	Name    string        `json:"name,omitempty"` // empty: generated, see [Table.IndexName]
	Columns []IndexColumn `json:"columns"`
	Unique  bool          `json:"unique,omitempty"`
	Where   string        `json:"where,omitempty"` // SQL predicate of a partial index; empty: all rows
}

// IndexColumn is one key of an index: a column or an expression.
type IndexColumn struct {
	Column     string `json:"column,omitempty"`     // name of a column; empty if Expression is set
	Expression string `json:"expression,omitempty"` // SQL, without the outer parentheses
	Descending bool   `json:"descending,omitempty"`
}

// Parameter is one storage parameter, such as fillfactor or
// autovacuum_vacuum_scale_factor. The value is written as a literal.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// View is an owned view.
type View struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Query   string `json:"query"` // SELECT, without a closing semicolon
	Comment string `json:"comment,omitempty"`
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
