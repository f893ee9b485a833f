package observability_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/observability"
)

// ready waits until /readyz says so, or until it says what is wrong.
func ready(t *testing.T, admin, wrong string) {
	t.Helper()
	var body string
	require.Eventually(t, func() bool {
		var status int
		status, body = get(t, admin+"/readyz")
		if wrong == "" {
			return status == http.StatusOK
		}
		return status == http.StatusServiceUnavailable && strings.Contains(body, wrong)
	}, time.Minute, 20*time.Millisecond, "waiting for %q, it says %q", wrong, &body)
	status, _ := get(t, admin+"/healthz")
	require.Equal(t, http.StatusOK, status, "a process that cannot work for now is alive: restarting it would help nobody")
}

func sqlExec(t *testing.T, k *kerneltest.Kernel, statement string) {
	t.Helper()
	_, err := k.DB().Exec(statement)
	require.NoError(t, err)
}

func TestReadyTurnsFalseWhenTheDatabaseIsReadOnlyAndHeals(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, shop(nil))
	ready(t, admin, "")
	sqlExec(t, k, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
	k.DB().SetMaxIdleConns(0) // new sessions take the setting
	ready(t, admin, "database read-only")
	tx, err := k.DB().Beginx()
	require.NoError(t, err)
	_, err = tx.Exec(`SET TRANSACTION READ WRITE`)
	require.NoError(t, err)
	_, err = tx.Exec(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$`)
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	ready(t, admin, "")
}

func TestReadyTurnsFalseWhenTheSchemaDriftsAndHeals(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, kernel.PublishOnly(), shop(nil))
	ready(t, admin, "")
	sqlExec(t, k, `ALTER TABLE tidings.delivery RENAME COLUMN ordering_key TO other`)
	ready(t, admin, "not ready: schema:")
	sqlExec(t, k, `ALTER TABLE tidings.delivery RENAME COLUMN other TO ordering_key`)
	ready(t, admin, "")
}

func TestReadyTurnsFalseWhenTheDatabaseIsGoneAndHeals(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, kernel.PublishOnly(), shop(nil))
	ready(t, admin, "")
	var name string
	require.NoError(t, k.DB().Get(&name, `SELECT current_database()`))
	// The only connection may go: none can be opened to a database that allows none.
	admins := kerneltest.New(t, kernel.PublishOnly(), shop(nil))
	sqlExec(t, admins, `ALTER DATABASE "`+name+`" ALLOW_CONNECTIONS false`)
	sqlExec(t, admins, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '`+name+`'`)
	ready(t, admin, "database not reached")
	sqlExec(t, admins, `ALTER DATABASE "`+name+`" ALLOW_CONNECTIONS true`)
	ready(t, admin, "")
}

// TestReadyTurnsFalseWhenTheClaimerStallsAndHeals locks the job table: the
// registration stays fresh, but no claim comes through.
func TestReadyTurnsFalseWhenTheClaimerStallsAndHeals(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, shop(nil))
	ready(t, admin, "")
	tx, err := k.DB().Beginx()
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.Exec(`LOCK TABLE tidings.delivery IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	ready(t, admin, "the claimer has not claimed for")
	require.NoError(t, tx.Rollback())
	ready(t, admin, "")
}

func TestReadyTurnsFalseWhenTheRegistrationIsStaleAndHeals(t *testing.T) {
	t.Parallel()
	k, admin := serve(t, shop(nil))
	ready(t, admin, "")
	tx, err := k.DB().Beginx()
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.Exec(`SELECT FROM tidings.node FOR UPDATE`)
	require.NoError(t, err)
	ready(t, admin, "registration was last renewed")
	require.NoError(t, tx.Rollback())
	ready(t, admin, "")
}

func TestAGoodResultHoldsABadOneDoesNot(t *testing.T) {
	t.Parallel()
	runs, wrong := 0, error(nil)
	h := observability.NewHealth(observability.Check{Name: "x", Every: time.Hour, Run: func(context.Context) error {
		runs++
		return wrong
	}})
	wrong = errors.New("bad")
	require.EqualError(t, h.Ready(t.Context()), "x: bad")
	wrong = nil
	require.NoError(t, h.Ready(t.Context()))
	wrong = errors.New("bad again")
	require.NoError(t, h.Ready(t.Context()))
	require.Equal(t, 2, runs)
}
