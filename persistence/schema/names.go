package schema

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// MaxName is the longest identifier in bytes that PostgreSQL keeps; longer ones
// it cuts silently.
const MaxName = 63

// Quote returns an identifier in double quotes, embedded quotes doubled. It
// always quotes, so case and any character survive. PostgreSQL refuses NUL and
// cuts names over [MaxName] bytes: [Model.Validate] finds both.
func Quote(identifier string) string {
	return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"`
}

// Qualified returns the quoted name of an object in its schema.
func Qualified(schema, name string) string {
	return Quote(schema) + "." + Quote(name)
}

// PrimaryKeyName is the name of the table's primary key and of its index.
func (t Table) PrimaryKeyName() string { return generated("pkey", t.Name) }

// UniqueName is the name of a unique constraint and of its index: its own, or
// one generated from table and columns.
func (t Table) UniqueName(u Unique) string {
	if u.Name != "" {
		return u.Name
	}
	return generated("key", append([]string{t.Name}, u.Columns...)...)
}

// ForeignKeyName is the name of a foreign key: its own, or one generated from
// table and columns.
func (t Table) ForeignKeyName(f ForeignKey) string {
	if f.Name != "" {
		return f.Name
	}
	return generated("fkey", append([]string{t.Name}, f.Columns...)...)
}

// IndexName is the name of an index: its own, or one generated from table and
// columns.
func (t Table) IndexName(x Index) string {
	if x.Name != "" {
		return x.Name
	}
	parts := []string{t.Name}
	for _, key := range x.Columns {
		if key.Column == "" {
			parts = append(parts, "expr")
			continue
		}
		parts = append(parts, key.Column)
	}
	return generated("idx", parts...)
}

// SequenceName is the name of the sequence behind an identity column. It is
// spelt out in the DDL, because PostgreSQL otherwise takes the next free name.
func (t Table) SequenceName(c Column) string { return generated("seq", t.Name, c.Name) }

// generated joins parts and suffix. A name that would be too long keeps its
// beginning and gets a hash of the whole, so that it stays distinct and stable.
func generated(suffix string, parts ...string) string {
	name := strings.Join(parts, "_") + "_" + suffix
	if len(name) <= MaxName {
		return name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // never fails
	tail := fmt.Sprintf("~%08x_%s", hash.Sum32(), suffix)
	head := name[:MaxName-len(tail)]
	for len(head) > 0 && !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	return head + tail
}

// Literal returns a string constant of SQL, safe under either setting of
// standard_conforming_strings. It is for the expressions of a model; values of
// statements travel as parameters.
func Literal(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if !strings.Contains(s, `\`) {
		return quoted
	}
	return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = Quote(name)
	}
	return strings.Join(quoted, ", ")
}
