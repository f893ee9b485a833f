package maptest

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/schema"
)

// zones are the session time zones that no value may depend on: none, one of
// three quarters of an hour, one with a history of odd seconds.
var zones = []string{"UTC", "Asia/Kathmandu", "America/St_Johns"}

// Store keeps values of mapped types in real tables, one connection per session
// time zone.
type Store struct {
	sessions []*sql.Conn
	count    atomic.Int64
}

// OpenStore connects to an empty database, until the end of the test.
func OpenStore(t *testing.T, driver, url string) *Store {
	t.Helper()
	db, err := sql.Open(driver, url)
	require.NoError(t, err)
	s := &Store{}
	for _, zone := range zones {
		conn, err := db.Conn(context.Background())
		require.NoError(t, err)
		_, err = conn.ExecContext(context.Background(), `SELECT set_config('TimeZone', $1, false)`, zone)
		require.NoError(t, err)
		s.sessions = append(s.sessions, conn)
	}
	t.Cleanup(func() {
		for _, conn := range s.sessions {
			require.NoError(t, conn.Close())
		}
		require.NoError(t, db.Close())
	})
	return s
}

// owner is the column that joins the rows of one value, as the event's identity
// does.
const owner = "@owner"

// Tables are the tables of a plan, in its order.
type Tables []schema.Table

// Create creates the tables of a plan and compares them with the model.
func (s *Store) Create(t require.TestingT, p *mapping.Plan) Tables {
	all := s.create(t, p)
	lines, err := schema.Differences(context.Background(), s.sessions[0], schema.Model{Tables: all})
	require.NoError(t, err)
	require.Empty(t, lines)
	return all
}

func (s *Store) create(t require.TestingT, p *mapping.Plan) Tables {
	name := fmt.Sprintf("t%d", s.count.Add(1))
	var all Tables
	for _, part := range p.Tables() {
		table := schema.Table{Schema: "public", Name: name, Checks: part.Checks, PrimaryKey: append([]string{owner}, part.Key...)}
		if part.Path != "" {
			table.Name += "." + part.Name
		}
		table.Columns = append([]schema.Column{{Name: owner, Type: "bigint", NotNull: true}}, part.Columns...)
		all = append(all, table)
	}
	m := schema.Model{Tables: all}
	require.NoError(t, m.Validate())
	_, err := s.sessions[0].ExecContext(context.Background(), strings.Join(m.DDL(), ";\n"))
	require.NoError(t, err)
	return all
}

// Drop drops them.
func (s *Store) Drop(t require.TestingT, all Tables) {
	names := make([]string, len(all))
	for i, table := range all {
		names[i] = schema.Qualified(table.Schema, table.Name)
	}
	require.NoError(t, s.Exec("DROP TABLE "+strings.Join(names, ", ")))
}

func columns(table schema.Table) string {
	quoted := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		quoted[i] = schema.Quote(c.Name)
	}
	return strings.Join(quoted, ", ")
}

// Insert writes a value through the i-th session and returns its owner.
func (s *Store) Insert(i int, all Tables, rows *mapping.Rows) (int64, error) {
	ctx, id := context.Background(), s.count.Add(1)
	args := append([]any{id}, rows.Root()...)
	parameters := make([]string, len(args))
	for i := range args {
		parameters[i] = fmt.Sprintf("$%d", i+1)
	}
	statement := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", schema.Qualified(all[0].Schema, all[0].Name), columns(all[0]), strings.Join(parameters, ", "))
	if _, err := s.sessions[i].ExecContext(ctx, statement, args...); err != nil {
		return 0, err
	}
	for table := 1; table < len(all); table++ {
		var arrays []string
		for i, c := range all[table].Columns[1:] {
			arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+2, c.Type))
		}
		statement := fmt.Sprintf("INSERT INTO %s (%s) SELECT $1::bigint, * FROM unnest(%s)",
			schema.Qualified(all[table].Schema, all[table].Name), columns(all[table]), strings.Join(arrays, ", "))
		for args := range rows.Batches(table) {
			if _, err := s.sessions[i].ExecContext(ctx, statement, append([]any{id}, args...)...); err != nil {
				return 0, err
			}
		}
	}
	return id, nil
}

// Load reads a value through the i-th session.
func (s *Store) Load(i int, all Tables, id int64, p *mapping.Plan) (any, error) {
	record := p.NewRecord()
	for table := range all {
		if !record.Expects(table) {
			continue
		}
		if err := s.loadTable(i, all[table], id, func() []any { return p.Targets(table) }, func(targets []any) { record.Add(table, targets) }); err != nil {
			return nil, err
		}
	}
	return p.Decode(record)
}

func (s *Store) loadTable(i int, table schema.Table, id int64, targets func() []any, add func([]any)) error {
	query := fmt.Sprintf("SELECT %s FROM %s WHERE %s = $1", columns(table), schema.Qualified(table.Schema, table.Name), schema.Quote(owner))
	rows, err := s.sessions[i].QueryContext(context.Background(), query, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		into := targets()
		if err := rows.Scan(append([]any{&id}, into...)...); err != nil {
			return err
		}
		add(into)
	}
	return rows.Err()
}

// RoundTrip stores a value in each session and loads it in the next one.
func (s *Store) RoundTrip(t require.TestingT, p *mapping.Plan, all Tables, v any) []any {
	var loaded []any
	for i := range s.sessions {
		loaded = append(loaded, s.roundTrip(t, i, p, all, v))
	}
	return loaded
}

func (s *Store) roundTrip(t require.TestingT, i int, p *mapping.Plan, all Tables, v any) any {
	rows, err := p.Encode(v)
	require.NoError(t, err)
	id, err := s.Insert(i, all, rows)
	require.NoError(t, err)
	got, err := s.Load((i+1)%len(s.sessions), all, id, p)
	require.NoError(t, err)
	return got
}

// MustPlan plans a type with the codecs and enums of this package.
func MustPlan(t require.TestingT, typ reflect.Type, opts ...mapping.Option) *mapping.Plan {
	p, err := mapping.NewPlan(typ, append([]mapping.Option{mapping.With(Registry())}, opts...)...)
	require.NoError(t, err)
	return p
}

// Exec runs a statement in the first session.
func (s *Store) Exec(statement string) error {
	_, err := s.sessions[0].ExecContext(context.Background(), statement)
	return err
}
