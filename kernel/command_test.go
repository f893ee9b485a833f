package kernel_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// command runs a program and returns its exit code and what it wrote.
func command(t *testing.T, args []string, opts ...fx.Option) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = kernel.Run(t.Context(), args, &stdout, &stderr, opts...)
	return code, stdout.String(), stderr.String()
}

func TestSchemaShowPrintsWhatMakesTheModelWithoutADatabase(t *testing.T) {
	t.Parallel()
	for _, framework := range []string{delivery.DefaultSchema, "other"} {
		delivered := make(chan string, 10)
		opts := []fx.Option{desk("test.show", delivered)}
		if framework != delivery.DefaultSchema {
			opts = append(opts, kernel.Schema(framework))
		}
		code, ddl, errs := command(t, []string{"schema", "show"}, opts...)
		require.Equal(t, kernel.ExitOK, code, errs)
		require.Empty(t, errs)
		db := pool(t, pgtest.Database(t, ddl))
		all := []kernel.Option{kernel.Database(db), quick()}
		if framework != delivery.DefaultSchema {
			all = append(all, kernel.Schema(framework))
		}
		a := newApp(t, kernel.Options(all...), desk("test.show", delivered))
		a.start() // which compares the database with the model
		a.emit("runs")
		require.Equal(t, "runs", <-delivered)
		a.stop()
	}
}

func TestACommandLineThatDoesNotFitIsAUsageError(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"nonsense": {"nonsense"}, "--nonsense": {"serve", "--nonsense"}, "extra": {"serve", "extra"}, "more": {"schema", "show", "more"},
		"--workers=-3": {"serve", "--workers=-3"}, "--workers=0": {"serve", "--workers", "0"}, "workers": {"serve", "--workers", "many"},
	} {
		code, _, errs := command(t, args)
		require.Equal(t, kernel.ExitUsage, code, "%v: %s", args, errs)
		require.Contains(t, errs, want)
	}
	code, out, errs := command(t, nil)
	require.Equal(t, kernel.ExitOK, code)
	require.Contains(t, out, "serve")
	require.Empty(t, errs)
}

func TestServeWithoutADatabaseSaysWhatToDo(t *testing.T) {
	t.Parallel()
	code, _, errs := command(t, []string{"serve"}, desk("test.serve", nil))
	require.Equal(t, kernel.ExitError, code)
	for _, want := range []string{"no database", "DATABASE_URL", "--dev", "kernel.DevDatabase()", "kernel.Database"} {
		require.Contains(t, errs, want)
	}
	err := fx.New(kernel.Options(), desk("test.serve", nil), fx.NopLogger).Err()
	require.ErrorContains(t, err, "no database: set DATABASE_URL")
}

func TestCommandsOfTheAppStandBesideTheKernels(t *testing.T) {
	t.Parallel()
	ran := 0
	mine := func(name string) *cobra.Command {
		return &cobra.Command{Use: name, Run: func(*cobra.Command, []string) { ran++ }}
	}
	for _, name := range []string{"one", "two"} {
		code, _, errs := command(t, []string{name}, kernel.Command(mine("one")), kernel.Module("inner", kernel.Module("deep", kernel.Command(mine("two")))))
		require.Equal(t, kernel.ExitOK, code, errs)
	}
	require.Equal(t, 2, ran)
}

// The tests below set variables of the process, so they are not parallel.

func TestEveryMalformedVariableIsNamed(t *testing.T) {
	bad := map[string]string{
		"TIDINGS_WORKERS": "many", "TIDINGS_POOL_SIZE": "-1", "TIDINGS_LEASE": "60", "TIDINGS_GRACE": "-1s", "TIDINGS_DEV": "perhaps",
		"TIDINGS_BATCH": "0", "TIDINGS_POLL": "soon", "TIDINGS_MARGIN": "0s", "TIDINGS_HEARTBEAT": "x", "TIDINGS_MAINTENANCE": "1",
	}
	for name, value := range bad {
		t.Setenv(name, value)
	}
	err := assemble(t, desk("test.env", nil))
	code, _, errs := command(t, []string{"serve"}, desk("test.env", nil))
	require.Equal(t, kernel.ExitError, code)
	for name, value := range bad {
		require.ErrorContains(t, err, name+"=\""+value+"\": want ")
		require.Contains(t, errs, name)
	}
}

func TestAMalformedDatabaseURLDoesNotTellItsPassword(t *testing.T) {
	for _, url := range []string{
		"postgres://me:sesame@host:notaport/db", "host=localhost password=sesame", "mysql://me:sesame@host/db", "postgres://me:sesame@host/db?sslmode=sesame!",
		"postgres://me:sesame@127.0.0.1:1/db", "postgres://me:%zzsesame@host/db",
	} {
		t.Setenv("DATABASE_URL", url)
		log := &watched{}
		code, out, errs := command(t, []string{"serve", "--admin-addr", "off"}, desk("test.url", nil), log.logger())
		require.Equal(t, kernel.ExitError, code, url)
		if !strings.Contains(url, "sslmode") {
			require.NotContains(t, out+errs+log.String(), "sesame", url)
		}
		require.Contains(t, errs, "database")
	}
}

func TestServeRunsUntilItIsToldToStop(t *testing.T) {
	delivered := make(chan string, 10)
	ddl, err := kernel.DDL(desk("test.run", delivered))
	require.NoError(t, err)
	url := pgtest.Database(t, ddl...)
	t.Setenv("DATABASE_URL", url)
	t.Setenv("TIDINGS_WORKERS", "3")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := &watched{}
	started := fx.Invoke(func(lc fx.Lifecycle) { lc.Append(fx.StartHook(func() { cancel() })) })
	var out, errs bytes.Buffer
	code := kernel.Run(ctx, []string{"serve", "--workers", "2"}, &out, &errs, desk("test.run", delivered), log.logger(), started)
	require.Equal(t, kernel.ExitOK, code, errs.String())
	require.Contains(t, log.String(), "workers=2", "a flag wins over the environment")
	require.Contains(t, log.String(), "delivery stopped")
	require.NotContains(t, log.String(), url)
	require.Zero(t, count(t, pool(t, url), nodes))
}

func TestServeEndsWithTheExitCodeOfAShutdownThatTheAppAsksFor(t *testing.T) {
	ddl, err := kernel.DDL(desk("test.shutdown", nil))
	require.NoError(t, err)
	t.Setenv("DATABASE_URL", pgtest.Database(t, ddl...))
	for wanted, code := range map[int]int{0: kernel.ExitOK, 7: kernel.ExitError} {
		shutdown := fx.Invoke(func(lc fx.Lifecycle, s fx.Shutdowner) {
			lc.Append(fx.StartHook(func() error { return s.Shutdown(fx.ExitCode(wanted)) }))
		})
		got, _, errs := command(t, []string{"serve"}, desk("test.shutdown", nil), (&watched{}).logger(), shutdown)
		require.Equal(t, code, got, errs)
	}
}

func TestServeDevMakesADatabaseThatKeepsItsData(t *testing.T) {
	above := t.TempDir()
	for _, folder := range []string{filepath.Dir(above), above} { // a root test's server runs as another user
		require.NoError(t, os.Chmod(folder, 0o755))
	}
	dir := filepath.Join(above, "dev", "pgdata")
	serve := func(hook func(*app) error) (int, string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a := &app{t: t}
		var out, errs bytes.Buffer
		code := kernel.Run(ctx, []string{"serve", "--dev", "--dev-dir", dir}, &out, &errs, desk("test.dev", make(chan string, 10)), (&watched{}).logger(),
			kernel.DevSchema(`CREATE TABLE own (n int)`), fx.Populate(&a.file), fx.Invoke(func(lc fx.Lifecycle) {
				lc.Append(fx.StartHook(func() error { defer cancel(); return hook(a) }))
			}))
		return code, errs.String()
	}
	for range 2 { // the second run meets the data of the first
		code, errs := serve(func(a *app) error { return a.file.Execute(t.Context(), File{"kept"}) })
		require.Equal(t, kernel.ExitOK, code, errs)
	}
	t.Setenv("TIDINGS_DEV", "true")
	t.Setenv("TIDINGS_DEV_DIR", dir)
	stored := 0
	var find *reader
	a := newApp(t, kernel.Options(quick(), (&watched{}).logger()), desk("test.dev", make(chan string, 10)), readerModule(), fx.Populate(&find))
	a.start()
	require.NoError(t, find.count(t.Context(), &stored))
	require.Equal(t, 2, stored)
	a.stop()
}
