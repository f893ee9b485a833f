package schema

import "strings"

// DDL returns the statements that create the model in a database where none of
// its tables and views exist: schemas (kept if they exist), tables, foreign
// keys, indexes, views, comments. The order is the same at every call. Validate
// the model first: DDL writes what it is given.
func (m Model) DDL() []string {
	var statements, foreignKeys, indexes, comments []string
	for _, name := range m.AllSchemas() {
		statements = append(statements, "CREATE SCHEMA IF NOT EXISTS "+Quote(name))
	}
	for _, t := range sortedTables(m.Tables) {
		statements = append(statements, t.create())
		for _, f := range t.ForeignKeys {
			foreignKeys = append(foreignKeys, t.alterForeignKey(f))
		}
		for _, x := range t.Indexes {
			indexes = append(indexes, t.createIndex(x))
		}
		if t.Comment != "" {
			comments = append(comments, comment("TABLE", t.Schema, t.Name, t.Comment))
		}
	}
	statements = append(append(statements, foreignKeys...), indexes...)
	for _, v := range m.Views {
		statements = append(statements, "CREATE VIEW "+Qualified(v.Schema, v.Name)+" AS\n"+v.Query)
		if v.Comment != "" {
			comments = append(comments, comment("VIEW", v.Schema, v.Name, v.Comment))
		}
	}
	return append(statements, comments...)
}

func comment(kind, schema, name, text string) string {
	return "COMMENT ON " + kind + " " + Qualified(schema, name) + " IS " + Literal(text)
}

func (t Table) create() string {
	var parts []string
	for _, c := range t.Columns {
		parts = append(parts, t.defineColumn(c))
	}
	if len(t.PrimaryKey) > 0 {
		parts = append(parts, constraint(t.PrimaryKeyName(), "PRIMARY KEY ("+quoteAll(t.PrimaryKey)+")"))
	}
	for _, u := range t.Uniques {
		parts = append(parts, constraint(t.UniqueName(u), "UNIQUE ("+quoteAll(u.Columns)+")"))
	}
	for _, c := range t.Checks {
		parts = append(parts, constraint(c.Name, "CHECK ("+c.Expression+")"))
	}
	statement := "CREATE TABLE " + Qualified(t.Schema, t.Name) + " ("
	if len(parts) > 0 {
		statement += "\n\t" + strings.Join(parts, ",\n\t") + "\n"
	}
	return statement + ")" + t.storage()
}

func constraint(name, definition string) string {
	return "CONSTRAINT " + Quote(name) + " " + definition
}

func (t Table) defineColumn(c Column) string {
	definition := Quote(c.Name) + " " + c.Type
	if t.Required(c) {
		definition += " NOT NULL"
	}
	if c.Default != "" {
		definition += " DEFAULT " + c.Default
	}
	if c.Identity {
		definition += " GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME " + Qualified(t.Schema, t.SequenceName(c)) + ")"
	}
	return definition
}

func (t Table) storage() string {
	if len(t.Storage) == 0 {
		return ""
	}
	settings := make([]string, len(t.Storage))
	for i, p := range t.Storage {
		settings[i] = p.Name + " = " + Literal(p.Value)
	}
	return " WITH (" + strings.Join(settings, ", ") + ")"
}

func (t Table) alterForeignKey(f ForeignKey) string {
	definition := "FOREIGN KEY (" + quoteAll(f.Columns) + ") REFERENCES " +
		Qualified(f.RefSchema, f.RefTable) + " (" + quoteAll(f.RefColumns) + ")"
	if f.OnDelete != "" {
		definition += " ON DELETE " + f.OnDelete
	}
	if f.InitiallyDeferred {
		definition += " DEFERRABLE INITIALLY DEFERRED"
	}
	return "ALTER TABLE " + Qualified(t.Schema, t.Name) + " ADD " + constraint(t.ForeignKeyName(f), definition)
}

func (t Table) createIndex(x Index) string { return t.createIndexAs(x, "INDEX") }

// createIndexAs is createIndex with another keyword, such as INDEX CONCURRENTLY.
func (t Table) createIndexAs(x Index, keyword string) string {
	keys := make([]string, len(x.Columns))
	for i, key := range x.Columns {
		keys[i] = Quote(key.Column)
		if key.Column == "" {
			keys[i] = "(" + key.Expression + ")"
		}
		if key.Descending {
			keys[i] += " DESC"
		}
	}
	statement := "CREATE "
	if x.Unique {
		statement += "UNIQUE "
	}
	statement += keyword + " " + Quote(t.IndexName(x)) + " ON " + Qualified(t.Schema, t.Name) +
		" (" + strings.Join(keys, ", ") + ")"
	if x.Where != "" {
		statement += " WHERE " + x.Where
	}
	return statement
}
