package kernel_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence/migrate"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/usecase"
)

// Versions of one event in a namespace that needs quoting everywhere.
type (
	Letter  struct{ Text string }
	Letter2 struct{ Text, Note string }
	Letter3 struct {
		Text string
		Note *string
	}
	Strict struct{ Text string }
	Mailed struct{ Text string }
)

// Validate is a rule of today that events of before break.
func (s Strict) Validate() error {
	if len(s.Text) > 4 {
		return errors.New("text " + `"` + s.Text + `" is too long`)
	}
	return nil
}

const odd = `we ird.a"b`

func readLetter[E any](context.Context, events.Self[E, none]) error { return nil }

// office is a version of an app: which type its event is, and what is called how.
func office[E any](event, listener string) fx.Option {
	type deps struct{ Letter events.Emitter[E] }
	return kernel.Module("office",
		events.Declare[E](odd+"."+event),
		events.Deferred(odd+"."+listener, readLetter[E]),
		usecase.DeclareAction(odd+".Post", func(ctx context.Context, self access.Self[Mailed, deps]) error {
			var e E
			if err := json.Unmarshal([]byte(`{"Text": "`+self.Input.Text+`"}`), &e); err != nil {
				return err
			}
			return self.Deps.Letter.Emit(ctx, e)
		}))
}

// project is a migrations folder and a database that follows it.
type project struct {
	t   *testing.T
	dir string
	db  *sqlx.DB
}

func newProject(t *testing.T) *project {
	return &project{t, filepath.Join(t.TempDir(), "migrations"), pool(t, pgtest.Database(t))}
}

func (p *project) run(app fx.Option, args ...string) (code int, out, errs string) {
	p.t.Helper()
	if !slices.Contains(args, "verify-history") {
		args = append(args, "--dir", p.dir)
	}
	return command(p.t, args, app, kernel.Database(p.db))
}

func (p *project) must(app fx.Option, args ...string) string {
	p.t.Helper()
	code, out, errs := p.run(app, args...)
	require.Equal(p.t, kernel.ExitOK, code, "%v: %s%s", args, out, errs)
	return out
}

// post has a running app emit events; nobody delivers them.
func (p *project) post(app fx.Option, texts ...string) {
	p.t.Helper()
	var act usecase.Action[Mailed]
	a := fx.New(kernel.Options(kernel.Database(p.db), kernel.PublishOnly()), app, fx.Populate(&act), fx.NopLogger)
	require.NoError(p.t, a.Err())
	require.NoError(p.t, a.Start(p.t.Context()))
	for _, text := range texts {
		require.NoError(p.t, act.Execute(p.t.Context(), Mailed{text}))
	}
	require.NoError(p.t, a.Stop(context.WithoutCancel(p.t.Context())))
}

func (p *project) files() []string {
	entries, err := os.ReadDir(p.dir)
	require.NoError(p.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The way of an app from nothing through its first change, in a namespace with a
// space and a quote.
func TestAnAppEvolvesThroughItsMigrations(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	first, second := office[Letter]("Letter", "Read"), office[Letter2]("Letter", "Read")

	code, _, errs := p.run(first, "schema", "apply")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, "schema plan --name initial")
	out := p.must(first, "schema", "plan", "--name", "initial")
	require.Contains(t, out, migrate.Notice)
	require.Len(t, p.files(), 2)
	require.Contains(t, p.must(first, "schema", "plan", "--name", "again"), "Nothing to plan")
	require.Contains(t, p.must(first, "schema", "apply"), "1 migrations applied.")
	p.post(first, "one", "two")
	require.Contains(t, p.must(first, "schema", "apply"), "0 migrations applied.")

	code, _, errs = p.run(second, "schema", "plan", "--name", "add_note")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, `column "Note" of "we ird.a""b"."@event:Letter" is new and required`)
	require.Contains(t, errs, `--backfill 'we ird.a"b.@event:Letter.Note=expression'`)
	require.Contains(t, errs, migrate.Notice)
	require.Len(t, p.files(), 2, "nothing was written")
	out = p.must(second, "schema", "plan", "--name", "add_note", "--backfill", "Note='-'")
	require.Contains(t, out, `SAFE           add column "Note" to`)
	require.Contains(t, p.must(second, "schema", "check", "--dev"), "The 2 migrations in")
	p.must(second, "schema", "apply")
	p.post(second, "three")
	var notes []string
	require.NoError(t, p.db.Select(&notes, `SELECT "Note" FROM "we ird.a""b"."@event:Letter" ORDER BY "@recordedAt"`))
	require.Equal(t, []string{"-", "-", ""}, notes)

	// The first version is not what the folder leads to any more.
	code, out, _ = p.run(first, "schema", "check", "--dev")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, out, `drop column "Note"`)
	require.Contains(t, out, migrate.Notice)
	code, _, errs = p.run(first, "schema", "plan", "--name", "back")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, "--force")
	out = p.must(first, "schema", "plan", "--name", "back", "--force", "--dry-run", "--json")
	require.Contains(t, out, `"risk": "destructive"`)
	require.Contains(t, out, "UNREVIEWED CANDIDATE")
	require.Len(t, p.files(), 4)
}

// silent is office without its listener: nothing is stored any more.
func silent() fx.Option {
	return kernel.Module("office", events.Declare[Letter](odd+".Letter"))
}

func TestATableWhoseLastListenerLeftIsNotPlannedForDropping(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.must(office[Letter]("Letter", "Read"), "schema", "plan", "--name", "initial")
	require.Contains(t, p.must(silent(), "schema", "plan", "--name", "silent", "--force"), "Nothing to plan")
	require.Contains(t, p.must(silent(), "schema", "check", "--dev"), "make what the app declares")

	none := kernel.Module("office", events.Declare[Letter2](odd+".Other", events.Recorded()))
	code, _, errs := p.run(none, "schema", "plan", "--name", "drop")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, `drop table "we ird.a""b"."@event:Letter"`)
	p.must(none, "schema", "plan", "--name", "keep", "--keep", odd+".@event:Letter")
	require.Contains(t, p.must(none, "schema", "plan", "--name", "kept"), "Nothing to plan", "kept until it is dropped by name")
	require.Contains(t, p.must(none, "schema", "check", "--dev"), "make what the app declares")
	p.must(none, "schema", "plan", "--name", "drop", "--drop", odd+".@event:Letter", "--force")
	require.Contains(t, p.must(none, "schema", "check", "--dev"), "make what the app declares")
}

func TestRenamedListenersAndEventsKeepTheirJobs(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	before := office[Letter]("Letter", "Read")
	p.must(before, "schema", "plan", "--name", "initial")
	p.must(before, "schema", "apply")
	p.post(before, "one", "two")

	after := office[Letter]("Letter", "Archive")
	code, _, errs := p.run(before, "rename", "listener", odd+".Read", odd+".Archive")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, "is still declared: change its identity in the code first")
	code, _, errs = p.run(after, "rename", "listener", odd+".Read", odd+".Nothing")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, `no listener we ird.a"b.Nothing is declared`)
	require.Contains(t, p.must(after, "rename", "listener", odd+".Read", odd+".Archive"), "rename_listener_we_ird_a_b_archive.sql")
	require.Len(t, p.files(), 3, "the model did not change: no snapshot")
	p.must(after, "schema", "apply")
	p.post(after, "three")
	require.Equal(t, `we ird.a"b.Archive 3`, p.jobs("listener"))

	last := office[Letter]("Message", "Archive")
	p.must(last, "rename", "event", odd+".Letter", odd+".Message")
	require.Contains(t, p.must(last, "schema", "check", "--dev"), "make what the app declares")
	p.must(last, "schema", "apply")
	p.post(last, "four")
	require.Equal(t, `we ird.a"b.Message 4`, p.jobs("event"))
	require.Contains(t, p.must(last, "schema", "verify-history"), "4 events rebuilt")

	provider, err := migrate.NewProvider(p.db.DB, os.DirFS(p.dir), "tidings", nil)
	require.NoError(t, err)
	for range 2 {
		_, err = provider.Down(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, `we ird.a"b.Letter 4`, p.jobs("event"))
	require.Equal(t, `we ird.a"b.Read 4`, p.jobs("listener"))
}

// jobs returns the names in a column of the jobs view, with their number.
func (p *project) jobs(column string) string {
	var names []string
	require.NoError(p.t, p.db.Select(&names, `SELECT `+column+` || ' ' || count(*) FROM tidings.jobs GROUP BY `+column))
	return strings.Join(names, ", ")
}

// A node that has already started under the new name has to be dealt with first.
func TestARenameDoesNotMergeListeners(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	before, after := office[Letter]("Letter", "Read"), office[Letter]("Letter", "Archive")
	p.must(before, "schema", "plan", "--name", "initial")
	p.must(before, "schema", "apply")
	p.post(before, "one")
	p.post(after) // has started and stored nothing
	p.must(after, "rename", "listener", odd+".Read", odd+".Archive")
	p.must(after, "schema", "apply")
	require.Equal(t, `we ird.a"b.Archive 1`, p.jobs("listener"))

	p.post(before, "two") // an old node that started again
	p.must(before, "rename", "listener", odd+".Archive", odd+".Read", "--name", "back")
	code, _, errs := p.run(before, "schema", "apply")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, "already in use")
	require.Equal(t, 2, strings.Count(p.jobs("listener"), " 1"))
}

func TestVerifyHistoryFindsWhatWouldFailAfterADeployment(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	before := office[Letter]("Letter", "Read")
	p.must(before, "schema", "plan", "--name", "initial")
	p.must(before, "schema", "apply")
	p.post(before, "ok", "long 1", "much longer", "fine")
	code, out, errs := p.run(before, "schema", "verify-history", "--batch", "3")
	require.Equal(t, kernel.ExitOK, code, errs)
	require.Contains(t, out, "4 events rebuilt")
	require.Contains(t, errs, "Letter: 3 verified\n")
	require.Contains(t, errs, "Letter: 4 verified\n")

	strict := office[Strict]("Letter", "Read")
	code, out, errs = p.run(strict, "schema", "verify-history")
	require.Equal(t, kernel.ExitError, code, out+errs)
	require.Contains(t, out, `2  we ird.a"b.Letter: text … is too long`)
	_, err := p.db.Exec(`UPDATE tidings.delivery SET state = 'COMPLETED' WHERE event_id IN (SELECT id FROM "we ird.a""b"."@event:Letter" WHERE "Text" = 'long 1')`)
	require.NoError(t, err)
	_, out, _ = p.run(strict, "schema", "verify-history")
	require.Contains(t, out, `1  we ird.a"b.Letter: text … is too long`)
	_, out, _ = p.run(strict, "schema", "verify-history", "--all", "--json")
	var result struct {
		Result struct {
			Verified int
			Findings []struct{ Count int }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	require.Equal(t, 4, result.Result.Verified)
	require.Equal(t, 2, result.Result.Findings[0].Count)

	// Jobs that nobody would run after the deployment.
	code, out, _ = p.run(office[Letter]("Letter", "Other"), "schema", "verify-history")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, out, `3  we ird.a"b.Letter: jobs of listener we ird.a"b.Read, which this code does not have`)
	_, err = p.db.Exec(`DELETE FROM "we ird.a""b"."@event:Letter" WHERE "Text" = 'fine'`)
	require.NoError(t, err)
	_, out, _ = p.run(before, "schema", "verify-history")
	require.Contains(t, out, "a job without its event")

	code, _, errs = p.run(office[Letter3]("Letter", "Read"), "schema", "verify-history")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, "apply the migrations first")
}

func TestApplySaysWhenTheDatabaseDoesNotFitTheApp(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.must(office[Letter]("Letter", "Read"), "schema", "plan", "--name", "initial")
	code, _, errs := p.run(office[Letter3]("Letter", "Read"), "schema", "apply")
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, `column "Note" is missing`)
	require.Contains(t, errs, "OK   ", "progress")
}

func TestSchemaCommandsWithoutADatabaseSayWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := office[Letter]("Letter", "Read")
	code, _, errs := command(t, []string{"schema", "plan", "--name", "initial", "--dir", dir}, app)
	require.Equal(t, kernel.ExitOK, code, errs)
	for _, name := range []string{"check", "apply"} {
		code, _, errs = command(t, []string{"schema", name, "--dir", dir}, app)
		require.Equal(t, kernel.ExitError, code)
		require.Contains(t, errs, "set DATABASE_URL")
	}
	code, _, errs = command(t, []string{"schema", "apply", "--dir", dir}, app, kernel.DevDatabase())
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, "made from the declarations")
	for _, args := range [][]string{{"schema", "plan"}, {"rename", "event", "x"}, {"schema", "verify-history", "--batch", "0"}} {
		code, _, _ = command(t, args, app)
		require.Equal(t, kernel.ExitUsage, code, args)
	}
}

// A program carries its migrations; a folder that is named goes first.
func TestAProgramCarriesItsMigrations(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	app := office[Letter]("Letter", "Read")
	p.must(app, "schema", "plan", "--name", "initial")
	carried := fx.Options(kernel.Module("carrier", app, kernel.Migrations(os.DirFS(p.dir))))
	code, out, errs := command(t, []string{"schema", "apply"}, carried, kernel.Database(p.db))
	require.Equal(t, kernel.ExitOK, code, errs)
	require.Contains(t, out, "1 migrations applied.")
	code, _, errs = command(t, []string{"schema", "apply", "--dir", t.TempDir()}, carried, kernel.Database(p.db))
	require.Equal(t, kernel.ExitError, code)
	require.Contains(t, errs, "no migrations in ")
}

// DATABASE_URL names the server of the scratch databases.
func TestSchemaCheckWorksOnTheServerOfTheDatabase(t *testing.T) {
	t.Setenv("DATABASE_URL", pgtest.Database(t))
	dir, app := t.TempDir(), office[Letter]("Letter", "Read")
	for _, args := range [][]string{{"schema", "plan", "--name", "initial"}, {"schema", "check"}, {"schema", "apply"}, {"schema", "check", "--json"}} {
		code, out, errs := command(t, append(args, "--dir", dir), app)
		require.Equal(t, kernel.ExitOK, code, "%v: %s%s", args, out, errs)
	}
}
