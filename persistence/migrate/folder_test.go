package migrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/migrate"
	"github.com/tidings-go/tidings/persistence/schema"
)

// model is an app's model with the columns given, in namespaces that need
// quoting, beside a framework.
func model(columns ...schema.Column) schema.Model {
	return schema.Model{Tables: []schema.Table{
		{
			Schema: `a"b`, Name: "@event:we ird", PrimaryKey: []string{"id"},
			Columns: append([]schema.Column{{Name: "id", Type: "bigint", NotNull: true}}, columns...),
		},
		{Schema: "we ird", Name: "job", Columns: []schema.Column{{Name: "n", Type: "integer", NotNull: true}}},
	}}
}

var note = schema.Column{Name: "no te", Type: "text"}

// at is when the candidates of a test are made, one second apart.
func at(n int) time.Time { return time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC) }

func open(t *testing.T, dir string) migrate.Folder {
	t.Helper()
	f, err := migrate.Open(os.DirFS(dir))
	require.NoError(t, err)
	return f
}

// plan plans from the last snapshot in dir and writes the candidate there.
func plan(t *testing.T, dir string, n int, m schema.Model, o migrate.Options) migrate.Candidate {
	t.Helper()
	if o.Name == "" {
		o.Name = "step"
	}
	o.At = at(n)
	c, err := migrate.NewCandidate(open(t, dir), m, o)
	require.NoError(t, err)
	require.NoError(t, c.Write(dir))
	return c
}

func names(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func read(t *testing.T, dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

func write(t *testing.T, dir, name, text string) {
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func TestSnapshotsFollowEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.Empty(t, open(t, dir).Snapshots)
	plan(t, dir, 1, model(), migrate.Options{Name: "initial"})
	plan(t, dir, 2, model(note), migrate.Options{Name: "add_note"})
	require.Equal(t, []string{
		"20260102030401_initial.snapshot.json", "20260102030401_initial.sql",
		"20260102030402_add_note.snapshot.json", "20260102030402_add_note.sql",
	}, names(t, dir))
	f := open(t, dir)
	require.Len(t, f.Snapshots, 2)
	require.Empty(t, f.Snapshots[0].Predecessor)
	require.Equal(t, f.Snapshots[0].Fingerprint, f.Snapshots[1].Predecessor)
	require.Equal(t, model(note).Canonical(), f.Last().Model)

	again, err := migrate.NewCandidate(f, model(note), migrate.Options{Name: "again", At: at(3)})
	require.NoError(t, err)
	require.True(t, again.Empty())
	require.Empty(t, again.Files)
}

// A clock that goes back, or two plans in one second, keep the order.
func TestACandidateComesAfterAllThatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan(t, dir, 9, model(), migrate.Options{})
	c := plan(t, dir, 1, model(note), migrate.Options{})
	require.Equal(t, "20260102030410_step.sql", c.Files[0].Name)
}

func TestABrokenChainIsRefusedWithAWayOut(t *testing.T) {
	t.Parallel()
	const first, second, third = "20260102030401_step", "20260102030402_step", "20260102030403_step"
	for name, tt := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   string
	}{
		"fork": {func(t *testing.T, dir string) {
			other := t.TempDir() // another branch
			for _, f := range []string{first + ".sql", first + ".snapshot.json"} {
				write(t, other, f, read(t, dir, f))
			}
			c := plan(t, other, 4, model(schema.Column{Name: "other", Type: "text"}), migrate.Options{Name: "branch"})
			for _, f := range c.Files {
				write(t, dir, f.Name, f.Text)
			}
		}, second + ".snapshot.json and 20260102030404_branch.snapshot.json were both planned from " + first + ".snapshot.json; keep one"},
		"two beginnings": {func(t *testing.T, dir string) {
			c := plan(t, t.TempDir(), 4, model(), migrate.Options{Name: "branch"})
			for _, f := range c.Files {
				write(t, dir, f.Name, f.Text)
			}
		}, "were both planned from nothing"},
		"edited model": {func(t *testing.T, dir string) {
			f := second + ".snapshot.json"
			write(t, dir, f, strings.Replace(read(t, dir, f), `"no te"`, `"note"`, 1))
		}, second + ".snapshot.json was edited: its fingerprint does not fit; restore it from version control"},
		"edited spaces": {func(t *testing.T, dir string) {
			f := second + ".snapshot.json"
			write(t, dir, f, read(t, dir, f)+"\n")
		}, "was edited"},
		"edited fingerprint": {func(t *testing.T, dir string) {
			f := second + ".snapshot.json"
			text := read(t, dir, f)
			i := strings.Index(text, `"fingerprint": "sha256:`) + len(`"fingerprint": "sha256:`)
			write(t, dir, f, text[:i]+strings.Repeat("0", 64)+text[i+64:])
		}, "was edited"},
		"renamed": {func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, third+".snapshot.json"), filepath.Join(dir, "20260102030405_x.snapshot.json")))
		}, "20260102030405_x.snapshot.json was edited"},
		"not JSON": {func(t *testing.T, dir string) {
			write(t, dir, second+".snapshot.json", "<<<<<<< HEAD\n")
		}, second + ".snapshot.json is not readable"},
		"unknown field": {func(t *testing.T, dir string) {
			f := second + ".snapshot.json"
			write(t, dir, f, strings.Replace(read(t, dir, f), "{", `{"more": 1,`, 1))
		}, `unknown field "more"`},
		"missing in the middle": {func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, second+".snapshot.json")))
		}, "the snapshot that " + third + ".snapshot.json was planned from is missing"},
		"missing at the end": {func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, third+".snapshot.json")))
		}, third + ".snapshot.json, the snapshot of " + third + ".sql, is missing"},
		"missing migration": {func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, second+".sql")))
		}, second + ".sql, which belongs to " + second + ".snapshot.json, is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plan(t, dir, 1, model(), migrate.Options{})
			plan(t, dir, 2, model(note), migrate.Options{})
			plan(t, dir, 3, model(note, schema.Column{Name: "third", Type: "text"}), migrate.Options{})
			open(t, dir)
			tt.damage(t, dir)
			_, err := migrate.Open(os.DirFS(dir))
			require.ErrorIs(t, err, migrate.ErrChain)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestLineEndingsAreNoEdit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := plan(t, dir, 1, model(), migrate.Options{})
	snapshot := c.Files[len(c.Files)-1]
	write(t, dir, snapshot.Name, strings.ReplaceAll(snapshot.Text, "\n", "\r\n"))
	require.Len(t, open(t, dir).Snapshots, 1)
}

func TestDestructiveCandidatesNeedForce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan(t, dir, 1, model(note), migrate.Options{})
	c, err := migrate.NewCandidate(open(t, dir), model(), migrate.Options{Name: "drop", At: at(2)})
	require.ErrorIs(t, err, migrate.ErrForce)
	require.ErrorContains(t, err, `drop column "no te" of "a""b"."@event:we ird"`)
	require.Empty(t, c.Files)
	require.Equal(t, schema.Destructive, c.Risk)
	forced := plan(t, dir, 2, model(), migrate.Options{Force: true})
	require.Contains(t, forced.Files[0].Text, "--force was given for this candidate: the risk was acknowledged, not taken over.")
}

// Every file of a candidate says who is responsible, and every step what it does.
func TestEveryFileCarriesTheNotice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan(t, dir, 1, model(), migrate.Options{})
	m := model(note)
	m.Tables[0].Indexes = []schema.Index{{Columns: schema.On("no te")}}
	c := plan(t, dir, 2, m, migrate.Options{})
	require.Len(t, c.Files, 3)
	for _, f := range c.Files[:2] {
		for line := range strings.Lines(migrate.Notice) {
			require.Contains(t, f.Text, "-- "+line)
		}
		require.Contains(t, f.Text, "· SAFE · ")
		require.Contains(t, f.Text, "--   Existing rows ")
		require.Contains(t, f.Text, "--   Locks ")
	}
	require.Contains(t, c.Files[1].Text, "-- +goose NO TRANSACTION")
	// A build beside writers holds nobody up and waits; what holds all up does not.
	require.Regexp(t, `(?s)SET LOCAL lock_timeout = '5s';.*ALTER TABLE`, c.Files[0].Text)
	require.Regexp(t, `(?s)SET lock_timeout = 0;.*CREATE INDEX CONCURRENTLY.*RESET lock_timeout;`, c.Files[1].Text)
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "20250101000000_own.sql", "-- +goose Up\nCREATE TABLE own ();\n")
	write(t, dir, "README.md", "hello")
	plan(t, dir, 1, model(), migrate.Options{})
	require.Len(t, open(t, dir).SQL, 2)
	c, err := migrate.NewCandidate(open(t, dir), model(note), migrate.Options{Name: "x", At: at(2)})
	require.NoError(t, err)
	write(t, dir, c.Files[0].Name, "mine")
	require.ErrorContains(t, c.Write(dir), "file exists")
	require.Equal(t, "mine", read(t, dir, c.Files[0].Name))
}

func TestWhatGooseWouldMisreadIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x\n-- +goose Down\nDROP TABLE y", "x\r\ny"} {
		m := model(schema.Column{Name: name, Type: "text"})
		_, err := migrate.NewCandidate(open(t, t.TempDir()), m, migrate.Options{Name: "x", At: at(1)})
		require.ErrorContains(t, err, "goose cannot read")
	}
	_, err := migrate.NewCandidate(open(t, t.TempDir()), model(), migrate.Options{Name: "../x", At: at(1)})
	require.ErrorIs(t, err, migrate.ErrName)
}
