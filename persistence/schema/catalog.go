package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// catalog is what the live database has of the names in a model.
type catalog struct {
	schemas   map[string]bool
	relations map[relationKey]relation
}

type relationKey struct{ Schema, Name string }

type relation struct {
	kind        string
	options     map[string]string
	columns     []liveColumn
	constraints map[string]liveConstraint
	indexes     map[string]liveIndex
}

type liveColumn struct {
	name, typ, byDefault, identity string
	notNull                        bool
}

type liveConstraint struct {
	kind      string
	columns   []string
	validated bool
	reference ForeignKey // of a foreign key: all but its name and columns
}

type liveIndex struct {
	keys                   []string
	unique, valid, partial bool
}

func (r relation) column(name string) (liveColumn, bool) {
	i := slices.IndexFunc(r.columns, func(c liveColumn) bool { return c.name == name })
	if i < 0 {
		return liveColumn{}, false
	}
	return r.columns[i], true
}

func readCatalog(ctx context.Context, q Queryer, m Model) (*catalog, error) {
	c := &catalog{schemas: map[string]bool{}, relations: map[relationKey]relation{}}
	keys := make([]relationKey, 0, len(m.Tables)+len(m.Views))
	for _, t := range m.Tables {
		keys = append(keys, askable(t.Schema, t.Name))
	}
	for _, v := range m.Views {
		keys = append(keys, askable(v.Schema, v.Name))
	}
	schemas := []string{}
	for _, name := range m.AllSchemas() {
		schemas = append(schemas, askable(name, "").Schema)
	}
	steps := []struct {
		query string
		arg   any
		row   func(scan func(...any) error) error
	}{
		{querySchemas, schemas, c.schemaRow},
		{queryRelations, keys, c.relationRow},
		{queryColumns, keys, c.columnRow},
		{queryConstraints, keys, c.constraintRow},
		{queryIndexes, keys, c.indexRow},
	}
	for _, step := range steps {
		if err := each(ctx, q, step.query, step.arg, step.row); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// askable makes names that no server accepts (with NUL) ones that it can be
// asked for and does not have.
func askable(schema, name string) relationKey {
	clean := strings.NewReplacer("\x00", "\ufffd")
	return relationKey{clean.Replace(schema), clean.Replace(name)}
}

// each runs a query whose only parameter is arg as JSON.
func each(ctx context.Context, q Queryer, query string, arg any, row func(func(...any) error) error) error {
	names, err := json.Marshal(arg)
	if err != nil {
		return fmt.Errorf("encode names: %w", err)
	}
	rows, err := q.QueryContext(ctx, query, string(names))
	if err != nil {
		return fmt.Errorf("read catalog: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err reports what matters
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return fmt.Errorf("read catalog: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read catalog: %w", err)
	}
	return rows.Close()
}

func (c *catalog) schemaRow(scan func(...any) error) error {
	var name string
	if err := scan(&name); err != nil {
		return err
	}
	c.schemas[name] = true
	return nil
}

func (c *catalog) relationRow(scan func(...any) error) error {
	var key relationKey
	var kind, options string
	if err := scan(&key.Schema, &key.Name, &kind, &options); err != nil {
		return err
	}
	var settings []string
	if err := json.Unmarshal([]byte(options), &settings); err != nil {
		return err
	}
	r := relation{
		kind: kind, options: map[string]string{},
		constraints: map[string]liveConstraint{}, indexes: map[string]liveIndex{},
	}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		r.options[name] = value
	}
	c.relations[key] = r
	return nil
}

func (c *catalog) columnRow(scan func(...any) error) error {
	var key relationKey
	var col liveColumn
	if err := scan(&key.Schema, &key.Name, &col.name, &col.typ, &col.notNull, &col.byDefault, &col.identity); err != nil {
		return err
	}
	// Another transaction may have created the table since relationRow.
	if r, ok := c.relations[key]; ok {
		r.columns = append(r.columns, col)
		c.relations[key] = r
	}
	return nil
}

func (c *catalog) constraintRow(scan func(...any) error) error {
	var key relationKey
	var name, columns, reference string
	var live liveConstraint
	if err := scan(&key.Schema, &key.Name, &name, &live.kind, &live.validated,
		&live.reference.InitiallyDeferred, &live.reference.OnDelete, &reference, &columns); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(reference), &live.reference); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(columns), &live.columns); err != nil {
		return err
	}
	if r, ok := c.relations[key]; ok {
		r.constraints[name] = live
	}
	return nil
}

func (c *catalog) indexRow(scan func(...any) error) error {
	var key relationKey
	var name, keys string
	var live liveIndex
	if err := scan(&key.Schema, &key.Name, &name, &live.unique, &live.valid, &live.partial, &keys); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(keys), &live.keys); err != nil {
		return err
	}
	if r, ok := c.relations[key]; ok {
		r.indexes[name] = live
	}
	return nil
}
