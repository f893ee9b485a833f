package delivery

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

// plans makes a table of ready, waiting and done jobs of two listeners and
// returns a function that explains a statement as it runs prepared, with a
// custom plan and with a generic one.
func plans(t *testing.T) func(text string, args ...string) []string {
	t.Helper()
	db := pgtest.Open(t, strings.Join(FrameworkModel(DefaultSchema).DDL(), ";\n"))
	for _, s := range []string{
		`INSERT INTO tidings.delivery (event_type_id, event_id, listener_id) SELECT 1, gen_random_uuid(), 1 + n % 2 FROM generate_series(1, 10000) n`,
		`INSERT INTO tidings.delivery (event_type_id, event_id, listener_id, state) SELECT 1, gen_random_uuid(), 1 + n % 2, 'COMPLETED' FROM generate_series(1, 30000) n`,
		`INSERT INTO tidings.delivery (event_type_id, event_id, listener_id, state, due_at) SELECT 1, gen_random_uuid(), 1 + n % 2, 'WAITING', now() + interval '1 hour' * n FROM generate_series(1, 10000) n`,
		`INSERT INTO tidings.delivery (event_type_id, event_id, listener_id, state, claim_token, lease_expires_at)
			SELECT 1, gen_random_uuid(), 1, 'CLAIMED', gen_random_uuid(), now() + interval '1 minute' FROM generate_series(1, 100)`,
		`INSERT INTO tidings.node (id, name, expires_at, listeners, model) VALUES (` + someNode + `, 'n', now() + interval '1 hour', '{1,2}', 'm')`,
		`ANALYZE`,
	} {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
	return func(text string, args ...string) []string {
		var all []string
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			all = append(all, explain(t, db, mode, fmt.Sprintf(text, schema.Quote(DefaultSchema)), args))
		}
		return all
	}
}

const (
	someNode  = `'00000000-0000-4000-8000-000000000001'`
	someToken = `'00000000-0000-4000-8000-000000000002'`
)

func explain(t *testing.T, db *sql.DB, mode, text string, args []string) (plan string) {
	t.Helper()
	tx, err := db.Begin()
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	for _, s := range []string{
		`SET LOCAL plan_cache_mode = ` + mode,
		`PREPARE asked AS ` + text,
	} {
		_, err := tx.Exec(s)
		require.NoError(t, err, s)
	}
	rows, err := tx.Query(`EXPLAIN (ANALYZE) EXECUTE asked (` + strings.Join(args, ", ") + `)`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan += line + "\n"
	}
	require.NoError(t, rows.Err())
	_, err = tx.Exec(`DEALLOCATE asked`)
	require.NoError(t, err)
	return plan
}

// With ten thousand ready rows of two listeners among five times as many, every
// statement on the hot table goes through the index made for it.
func TestHotStatementsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	ask := plans(t)
	for name, c := range map[string]struct {
		text  string
		args  []string
		index string
	}{
		"claim":          {claimSQL, []string{`'10000'`, `'x'`, someToken, someNode, `'{1,2}'`, `'{50,50}'`, `'{60000000,60000000}'`, `'{-infinity,2026-01-02T03:04:05.000006Z}'`}, "delivery_ready"},
		"claim suspect":  {claimSuspectSQL, []string{`'10000'`, `'x'`, someToken, someNode, `'{1,2}'`, `'{60000000,60000000}'`}, "delivery_suspect"},
		"suspects":       {suspectsSQL, []string{`'{1,2}'`}, "delivery_suspect"},
		"acknowledge":    {acknowledgeSQL, []string{`'1000'`, `'x'`, `7`, someToken}, "delivery_pkey"},
		"hand back":      {handBackSQL, []string{`'{7,8}'`, `'{` + strings.Trim(someToken, "'") + `,` + strings.Trim(someToken, "'") + `}'`, `0`}, "delivery_pkey"},
		"hand back lost": {handBackTokenSQL, []string{someToken}, "delivery_claimed"},
		"recover":        {recoverSQL, []string{`100`, `0`, `NULL`, `20`}, "delivery_claimed"},
		"promote":        {promoteSQL, []string{`1000`, `NULL`}, "delivery_waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, plan := range ask(c.text, c.args...) {
				require.Contains(t, plan, c.index, plan)
				require.NotContains(t, plan, "Seq Scan on delivery", plan)
			}
		})
	}
}
