package mapping_test

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
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

// zones are the session time zones that no value may depend on: none, one of
// three quarters of an hour, one with a history of odd seconds.
var zones = []string{"UTC", "Asia/Kathmandu", "America/St_Johns"}

// store keeps values of mapped types in real tables, one connection per session
// time zone.
type store struct {
	sessions []*sql.Conn
	tables   atomic.Int64
}

func newStore(t *testing.T) *store {
	t.Helper()
	return openStore(t, "postgres", pgtest.Database(t))
}

func openStore(t *testing.T, driver, url string) *store {
	t.Helper()
	db, err := sql.Open(driver, url)
	require.NoError(t, err)
	s := &store{}
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

// table creates the table of a plan.
func (s *store) table(t require.TestingT, p *mapping.Plan) schema.Table {
	table := schema.Table{Schema: "public", Name: fmt.Sprintf("t%d", s.tables.Add(1)), Columns: p.Columns(), Checks: p.Checks()}
	m := schema.Model{Tables: []schema.Table{table}}
	require.NoError(t, m.Validate())
	for _, statement := range m.DDL() {
		_, err := s.sessions[0].ExecContext(context.Background(), statement)
		require.NoError(t, err, statement)
	}
	lines, err := schema.Differences(context.Background(), s.sessions[0], m)
	require.NoError(t, err)
	require.Empty(t, lines)
	return table
}

func (s *store) drop(t require.TestingT, table schema.Table) {
	_, err := s.sessions[0].ExecContext(context.Background(), "DROP TABLE "+schema.Qualified(table.Schema, table.Name))
	require.NoError(t, err)
}

func names(table schema.Table) (columns, parameters string) {
	var quoted, numbered []string
	for i, c := range table.Columns {
		quoted = append(quoted, schema.Quote(c.Name))
		numbered = append(numbered, fmt.Sprintf("$%d", i+1))
	}
	return strings.Join(quoted, ", "), strings.Join(numbered, ", ")
}

// insert writes a value through the i-th session and returns the row's ctid.
func (s *store) insert(i int, table schema.Table, args []any) (string, error) {
	columns, parameters := names(table)
	statement := "INSERT INTO " + schema.Qualified(table.Schema, table.Name)
	if len(args) == 0 {
		statement += " DEFAULT VALUES"
	} else {
		statement += " (" + columns + ") VALUES (" + parameters + ")"
	}
	var ctid string
	err := s.sessions[i].QueryRowContext(context.Background(), statement+" RETURNING ctid::text", args...).Scan(&ctid)
	return ctid, err
}

// load reads a row through the i-th session.
func (s *store) load(i int, table schema.Table, ctid string, p *mapping.Plan) (any, error) {
	columns, _ := names(table)
	if columns != "" {
		columns = ", " + columns
	}
	targets := p.Targets()
	query := "SELECT 1" + columns + " FROM " + schema.Qualified(table.Schema, table.Name) + " WHERE ctid = $1::text::tid"
	var one int
	err := s.sessions[i].QueryRowContext(context.Background(), query, ctid).Scan(append([]any{&one}, targets...)...)
	if err != nil {
		return nil, err
	}
	return p.Decode(targets)
}

// roundTrip stores a value in each session and loads it in the next one.
func (s *store) roundTrip(t require.TestingT, p *mapping.Plan, table schema.Table, v any) []any {
	var loaded []any
	for i := range s.sessions {
		args, err := p.Encode(v, nil)
		require.NoError(t, err)
		ctid, err := s.insert(i, table, args)
		require.NoError(t, err, "%#v", args)
		got, err := s.load((i+1)%len(s.sessions), table, ctid, p)
		require.NoError(t, err)
		loaded = append(loaded, got)
	}
	return loaded
}

func mustPlan(t require.TestingT, typ reflect.Type, opts ...mapping.Option) *mapping.Plan {
	p, err := mapping.NewPlan(typ, opts...)
	require.NoError(t, err)
	return p
}
