package doctor_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/observability/doctor"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Runner{M: m}) }

// patient is a database with the framework's tables and nothing wrong but what
// test servers have: they may lose everything.
func patient(t *testing.T) doctor.Patient {
	t.Helper()
	m := delivery.FrameworkModel(delivery.DefaultSchema)
	db := sqlx.NewDb(pgtest.Open(t, m.DDL()...), "postgres")
	p := doctor.Patient{
		DB: db, Framework: delivery.DefaultSchema, Config: delivery.Config{}.WithDefaults(), PoolSize: 10,
		Backlog: delivery.NewBacklogReader(persistence.New(db), delivery.DefaultSchema).Read,
		Differences: func(ctx context.Context) ([]string, error) {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
			if err != nil {
				return nil, err
			}
			defer func() { _ = tx.Rollback() }()
			return schema.Differences(ctx, tx, m)
		},
	}
	p.Config.Workers = 4
	for _, table := range m.Tables {
		p.Tables = append(p.Tables, [2]string{table.Schema, table.Name})
	}
	return p
}

func exec(t *testing.T, p doctor.Patient, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := p.DB.Exec(s)
		require.NoError(t, err, s)
	}
}

// found returns what a check found.
func found(findings []doctor.Finding, check string) (all []doctor.Finding) {
	for _, f := range findings {
		if f.Check == check {
			all = append(all, f)
		}
	}
	return all
}

// requireFinding wants a finding of the check that says and advises this.
func requireFinding(t *testing.T, p doctor.Patient, check string, status doctor.Status, says, do string) {
	t.Helper()
	all := found(doctor.Examine(t.Context(), p), check)
	for _, f := range all {
		if f.Status == status && strings.Contains(f.Says, says) && strings.Contains(f.Do, do) {
			return
		}
	}
	t.Fatalf("%s: no %s says %q and %q: %+v", check, status, says, do, all)
}

func TestAHealthyDatabaseHasNoProblems(t *testing.T) {
	t.Parallel()
	p := patient(t)
	var checks []string
	p.Around = func(check string, run func()) { checks = append(checks, check); run() }
	findings := doctor.Examine(t.Context(), p)
	for _, f := range findings {
		if f.Check != "settings" && f.Check != "connections" { // of a test server, shared by all tests
			require.NotEqual(t, doctor.Problem, f.Status, "%+v", f)
		}
		require.NotEmpty(t, f.Says)
		require.Equal(t, f.Status == doctor.OK, f.Do == "", "what is not well has an advice: %+v", f)
	}
	require.Equal(t, []string{
		"version", "settings", "privileges", "schema", "connections", "clock", "snapshots", "indexes", "bloat", "autovacuum", "nodes", "jobs",
	}, checks)
	requireFinding(t, p, "settings", doctor.Problem, "fsync is off", "turn it on")
	p.Development = true
	requireFinding(t, p, "settings", doctor.Note, "fsync is off", "may be lost")
	requireFinding(t, p, "nodes", doctor.Note, "no node delivers", "serve")
}

func TestTheDoctorFindsWhatIsWrongWithTheDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm            []string
		change          func(*doctor.Patient)
		check, says, do string
		status          doctor.Status
	}{
		"drift":      {harm: []string{`ALTER TABLE tidings.node DROP COLUMN model`}, check: "schema", says: "model", do: "schema plan", status: doctor.Problem},
		"index":      {harm: []string{`DROP INDEX tidings.delivery_waiting`}, check: "indexes", says: "delivery_waiting", do: "schema apply", status: doctor.Problem},
		"autovacuum": {harm: []string{`ALTER TABLE tidings.delivery SET (autovacuum_enabled = false)`}, check: "autovacuum", says: "off for the job table", do: "RESET (autovacuum_enabled)", status: doctor.Problem},
		"untuned":    {harm: []string{`ALTER TABLE tidings.delivery RESET (autovacuum_vacuum_threshold)`}, check: "autovacuum", says: "does not have autovacuum_vacuum_threshold=20000", do: "ALTER TABLE", status: doctor.Note},
		"small pool": {change: func(p *doctor.Patient) { p.PoolSize = 3 }, check: "connections", says: "4 workers need 5", do: "TIDINGS_POOL_SIZE", status: doctor.Problem},
		"large pool": {change: func(p *doctor.Patient) { p.PoolSize = 100_000 }, check: "connections", says: "100000", do: "PgBouncer", status: doctor.Problem},
		"unreachable": {change: func(p *doctor.Patient) {
			p.Differences = func(context.Context) ([]string, error) { return nil, errors.New("gone") }
		}, check: "schema", says: "could not be examined: gone", do: "database", status: doctor.Problem},
		"blocked": {
			harm: []string{
				`INSERT INTO tidings.event_type (name) VALUES ('a.E')`, `INSERT INTO tidings.listener (event_type_id, name) VALUES (1, 'a.L')`,
				`INSERT INTO tidings.delivery (event_type_id, event_id, listener_id) VALUES (1, gen_random_uuid(), 1)`,
			},
			check: "jobs", says: "1 jobs of a.L are blocked", do: "rename listener", status: doctor.Problem,
		},
		"failed": {
			harm: []string{
				`INSERT INTO tidings.event_type (name) VALUES ('a.E')`, `INSERT INTO tidings.listener (event_type_id, name) VALUES (1, 'a.L')`,
				`INSERT INTO tidings.delivery (event_type_id, event_id, listener_id, state) VALUES (1, gen_random_uuid(), 1, 'FAILED')`,
			},
			check: "jobs", says: "1 jobs of a.L failed", do: "retry", status: doctor.Problem,
		},
		"late": {
			harm: []string{
				`INSERT INTO tidings.event_type (name) VALUES ('a.E')`, `INSERT INTO tidings.listener (event_type_id, name) VALUES (1, 'a.L')`,
				`INSERT INTO tidings.node (id, name, expires_at, listeners, model) VALUES (gen_random_uuid(), 'n', now() + interval '1 hour', '{1}', 'm')`,
				`INSERT INTO tidings.delivery (event_type_id, event_id, listener_id, due_at) VALUES (1, gen_random_uuid(), 1, now() - interval '1 hour')`,
			},
			check: "jobs", says: "has been due for 1h0m", do: "more workers", status: doctor.Problem,
		},
		"two programs": {
			harm: []string{`INSERT INTO tidings.node (id, name, expires_at, listeners, model)
				SELECT gen_random_uuid(), 'n', now() + interval '1 hour', '{}', m FROM unnest(ARRAY['a', 'b']) m`},
			check: "nodes", says: "2 different programs", do: "deployment", status: doctor.Note,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := patient(t)
			exec(t, p, c.harm...)
			if c.change != nil {
				c.change(&p)
			}
			requireFinding(t, p, c.check, c.status, c.says, c.do)
		})
	}
}

func TestTheDoctorFindsAnInvalidIndex(t *testing.T) {
	t.Parallel()
	p := patient(t)
	exec(t, p, `INSERT INTO tidings.operation (operator, action, subject) SELECT 'o', 'a', 's' FROM generate_series(1, 2)`)
	_, err := p.DB.Exec(`CREATE UNIQUE INDEX CONCURRENTLY broken ON tidings.operation (operator)`)
	require.Error(t, err)
	requireFinding(t, p, "indexes", doctor.Problem, "tidings.broken is invalid", "REINDEX INDEX CONCURRENTLY tidings.broken")
}

func TestTheDoctorFindsALongHeldSnapshot(t *testing.T) {
	t.Parallel()
	p := patient(t)
	tx, err := p.DB.Beginx()
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	var pid string
	require.NoError(t, tx.Get(&pid, `SELECT pg_backend_pid() FROM pg_current_xact_id()`))
	p.LongSnapshot = time.Microsecond
	requireFinding(t, p, "snapshots", doctor.Problem, "session "+pid, "pg_terminate_backend("+pid+")")
}

func TestTheDoctorFindsBloat(t *testing.T) {
	t.Parallel()
	p := patient(t)
	exec(t, p, `ALTER TABLE tidings.delivery SET UNLOGGED, SET (autovacuum_enabled = false)`,
		`INSERT INTO tidings.delivery (event_type_id, event_id, listener_id) SELECT 1, lpad(to_hex(i), 32, '0')::uuid, 1 FROM generate_series(1, 180000) i`,
		`DELETE FROM tidings.delivery`)
	require.Eventually(t, func() bool { // the server counts a little later
		for _, f := range found(doctor.Examine(t.Context(), p), "bloat") {
			if f.Status == doctor.Problem && strings.Contains(f.Says, "dead rows") && strings.Contains(f.Do, "VACUUM") {
				return true
			}
		}
		return false
	}, time.Minute, 100*time.Millisecond)
	exec(t, p, `VACUUM tidings.delivery`)
	requireFinding(t, p, "bloat", doctor.Note, "for 0 entries", "REINDEX INDEX CONCURRENTLY")
}

func TestTheDoctorFindsMissingPrivileges(t *testing.T) {
	t.Parallel()
	p := patient(t)
	var name string
	require.NoError(t, p.DB.Get(&name, `SELECT 'clerk_' || replace(current_database(), '-', '_')`))
	exec(t, p, `CREATE ROLE "`+name+`"`, `GRANT USAGE ON SCHEMA tidings TO "`+name+`"`, `GRANT SELECT ON ALL TABLES IN SCHEMA tidings TO "`+name+`"`)
	t.Cleanup(func() { exec(t, p, `DROP OWNED BY "`+name+`"`, `DROP ROLE "`+name+`"`) })
	p.DB.SetMaxOpenConns(1)
	exec(t, p, `SET ROLE "`+name+`"`)
	requireFinding(t, p, "privileges", doctor.Problem, "no privilege on tidings.delivery: DELETE, INSERT, UPDATE", "grant it")
	requireFinding(t, p, "privileges", doctor.Note, "does not see the transactions of other users", "pg_read_all_stats")
	exec(t, p, `RESET ROLE`)
}
