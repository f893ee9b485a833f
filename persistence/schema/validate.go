package schema

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrInvalid is wrapped by every error of [Model.Validate].
var ErrInvalid = errors.New("invalid schema model")

// MaxColumns is the number of columns that PostgreSQL allows in a table.
const MaxColumns = 1600

// systemColumns exist in every table and cannot be declared.
var systemColumns = []string{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}

var deleteActions = []string{"", "NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"}

var parameterName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// CheckName tells what PostgreSQL would refuse or change in an identifier, or
// nil: it is empty, longer than [MaxName] bytes, holds NUL or is no valid
// UTF-8. The text names the problem, not the identifier's place.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("name is empty")
	case !utf8.ValidString(name):
		return fmt.Errorf("name %q is not valid UTF-8", name)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("name %q contains NUL", name)
	case len(name) > MaxName:
		return fmt.Errorf("name %q has %d bytes, PostgreSQL keeps %d", name, len(name), MaxName)
	}
	return nil
}

// CheckColumnName is [CheckName] for a column: it also refuses the names of
// PostgreSQL's system columns.
func CheckColumnName(name string) error {
	if slices.Contains(systemColumns, name) {
		return fmt.Errorf("name %q is a system column of every table", name)
	}
	return CheckName(name)
}

// Validate returns all problems of the model at once, each with its path and a
// way out, or nil. It finds what PostgreSQL would refuse, cut or confuse by
// name; it does not parse types and expressions.
func (m Model) Validate() error {
	v := validator{relations: map[string]string{}}
	for _, name := range m.AllSchemas() {
		v.schema(name)
	}
	for _, t := range m.Tables {
		v.table(t)
	}
	for _, view := range m.Views {
		path := "view " + Qualified(view.Schema, view.Name)
		v.relation(view.Schema, view.Name, path, "give the view another name")
		if strings.TrimSpace(view.Query) == "" {
			v.report(path, errors.New("query is empty"), "write its SELECT")
		}
	}
	return errors.Join(v.problems...)
}

// validator collects problems. PostgreSQL keeps tables, views, indexes and
// sequences of a schema in one name space, which relations mirrors.
type validator struct {
	problems  []error
	relations map[string]string
}

func (v *validator) report(path string, problem error, wayOut string) {
	v.problems = append(v.problems, fmt.Errorf("%w: %s: %w; %s", ErrInvalid, path, problem, wayOut))
}

func (v *validator) schema(name string) {
	const wayOut = "choose another schema name (for events: a shorter namespace)"
	path := "schema " + Quote(name)
	if err := CheckName(name); err != nil {
		v.report(path, err, wayOut)
		return
	}
	if strings.HasPrefix(name, "pg_") || name == "information_schema" {
		v.report(path, fmt.Errorf("name %q belongs to PostgreSQL", name), wayOut)
	}
}

func (v *validator) relation(schema, name, path, wayOut string) {
	if err := CheckName(name); err != nil {
		v.report(path, err, wayOut)
		return
	}
	key := Qualified(schema, name)
	if other, taken := v.relations[key]; taken {
		v.report(path, fmt.Errorf("name %q is taken by %s", name, other), wayOut)
		return
	}
	v.relations[key] = path
}

func (v *validator) table(t Table) {
	path := "table " + Qualified(t.Schema, t.Name)
	v.relation(t.Schema, t.Name, path, "declare a shorter or another name")
	v.columns(t, path)
	v.constraints(t, path)
	v.indexes(t, path)
	v.storage(t, path)
}

func (v *validator) columns(t Table, path string) {
	if len(t.Columns) > MaxColumns {
		v.report(path, fmt.Errorf("%d columns, PostgreSQL allows %d", len(t.Columns), MaxColumns), "split the type")
	}
	seen := map[string]bool{}
	for _, c := range t.Columns {
		at := path + ", column " + Quote(c.Name)
		const wayOut = `choose another with persistence.Column("Path.To.Field", "shorter")`
		if err := CheckColumnName(c.Name); err != nil {
			v.report(at, err, wayOut)
		} else if seen[c.Name] {
			v.report(at, fmt.Errorf("name %q stands twice", c.Name), wayOut)
		}
		seen[c.Name] = true
		if strings.TrimSpace(c.Type) == "" {
			v.report(at, errors.New("type is empty"), "write it as format_type prints it")
		}
		if c.Identity && c.Default != "" {
			v.report(at, errors.New("identity and default exclude each other"), "keep one")
		}
		if c.Identity {
			v.relation(t.Schema, t.SequenceName(c), at+", its sequence", "rename the column or the other object")
		}
	}
}

func (v *validator) storage(t Table, path string) {
	seen := map[string]bool{}
	for _, p := range t.Storage {
		if !parameterName.MatchString(p.Name) {
			v.report(path, fmt.Errorf("storage parameter %q is no plain name", p.Name), "use a parameter of CREATE TABLE in lower case")
		}
		if seen[p.Name] {
			v.report(path, fmt.Errorf("storage parameter %q stands twice", p.Name), "keep one")
		}
		seen[p.Name] = true
	}
}
