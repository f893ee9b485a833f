package integration

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/tidings-go/tidings"

// rooms names, for each room, the other rooms that its packages may import.
var rooms = map[string][]string{
	"persistence":   {},
	"access":        {},
	"events":        {"access", "persistence"},
	"usecase":       {"events", "access", "persistence"},
	"delivery":      {"events", "access", "persistence"},
	"observability": {"delivery", "usecase", "events", "access", "persistence"},
	"boot":          {"observability", "delivery", "usecase", "events", "access", "persistence"},
	"kernel":        {"boot", "observability", "delivery", "usecase", "events", "access", "persistence"},
}

// outsiders use the rooms as an app does and are imported by nobody.
var outsiders = []string{"sampleapp", "integration"}

// otherFolders may stand beside the rooms; bin holds what make builds.
var otherFolders = []string{"docs", "bin"}

// limited names modules that the rooms' code (not its tests) keeps to few
// folders, so that a user's program does not carry them by accident.
var limited = map[string][]string{
	"github.com/spf13/cobra": {"boot", "kernel"},
	"github.com/jackc/pgx":   {},

	"github.com/prometheus": {"boot", "kernel", "observability"},
	"go.opentelemetry.io":   {"kernel", "observability"},
	// The API alone: an app chooses the SDK.
	"go.opentelemetry.io/otel/sdk": {},

	"github.com/fergusstrange/embedded-postgres": {"persistence/pgserver"},

	"github.com/stretchr/testify": {"kernel/kerneltest", "persistence/mapping/maptest"},
	"go.uber.org/goleak":          {"kernel/kerneltest"},
	"pgregory.net/rapid":          {"kernel/kerneltest", "persistence/mapping/maptest"},
}

// source is one Go file: its path below the root, with slashes, and its
// package clause.
type source struct{ file, pkg string }

func (s source) folder() string { return path.Dir(s.file) }

func (s source) room() string { return first(s.file) }

func (s source) test() bool { return strings.HasSuffix(s.file, "_test.go") }

// blackBox is a test that sees the package as its users do. It may import any
// room, for nothing can import it in turn.
func (s source) blackBox() bool { return s.test() && strings.HasSuffix(s.pkg, "_test") }

func first(p string) string {
	before, _, _ := strings.Cut(p, "/")
	return before
}

// below tells whether p is root or lies below it, whole path parts only.
func below(p, root string) bool {
	return p == root || strings.HasPrefix(p, root+"/")
}

func belowAny(p string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return below(p, root) })
}

// objection says why a file must not import a path; it is empty if it may.
func objection(s source, imported string) string {
	if below(imported, module) {
		return roomObjection(s, strings.TrimPrefix(strings.TrimPrefix(imported, module), "/"))
	}
	if s.test() || slices.Contains(outsiders, s.room()) {
		return ""
	}
	if below(imported, "go.uber.org/fx") && !mayUseFx(s) {
		return "fx belongs to kernel, boot and the declare*.go files of access, usecase, events and persistence"
	}
	for name, folders := range limited {
		if below(imported, name) && !belowAny(s.folder(), folders) {
			return fmt.Sprintf("%s is for %s only", name, strings.Join(folders, ", "))
		}
	}
	return ""
}

func roomObjection(s source, imported string) string {
	from, to := s.room(), first(imported)
	switch _, known := rooms[to]; {
	case from == to:
		return ""
	case slices.Contains(outsiders, to):
		return "nobody imports " + to
	case !known:
		return "no room holds it"
	case slices.Contains(outsiders, from), s.blackBox():
		return ""
	case !slices.Contains(rooms[from], to):
		return fmt.Sprintf("%s may import only %v", from, rooms[from])
	}
	return ""
}

func mayUseFx(s source) bool {
	switch s.room() {
	case "kernel", "boot":
		return true
	case "access", "usecase", "events", "persistence":
		name := path.Base(s.file)
		return strings.HasPrefix(name, "declare") && s.folder() == s.room()
	}
	return false
}

// folderObjection says why a folder must not stand in the root.
func folderObjection(name string) string {
	_, room := rooms[name]
	if room || strings.HasPrefix(name, ".") || slices.Contains(outsiders, name) || slices.Contains(otherFolders, name) {
		return ""
	}
	return "a root folder that is no room"
}

// eachImport visits the imports of every Go file below root. It parses the
// files instead of asking the go command, which sees one platform's only.
func eachImport(root string, visit func(s source, imported string)) error {
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != root && (name == "testdata" || name[0] == '.' || name[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			visit(source{filepath.ToSlash(relative), parsed.Name.Name}, imported)
		}
		return nil
	})
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	err := eachImport("..", func(s source, imported string) {
		seen[s.file] = true
		if why := objection(s, imported); why != "" {
			t.Errorf("%s (package %s) imports %s: %s", s.file, s.pkg, imported, why)
		}
	})
	require.NoError(t, err)
	require.True(t, seen["integration/architecture_test.go"], "the walk missed this very file")
}

func TestRootHoldsRoomsOnly(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("..")
	require.NoError(t, err)
	var folders []string
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		folders = append(folders, entry.Name())
		if why := folderObjection(entry.Name()); why != "" {
			t.Errorf("%s: %s", entry.Name(), why)
		}
	}
	for room := range rooms {
		require.Contains(t, folders, room)
	}
}

// The tests above are worth what their rules are worth: each rule is shown an
// import that breaks it, beside the nearest one that does not.
func TestArchitectureRulesObject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file, pkg, imported string
		forbidden           bool
	}{
		{"persistence/tx.go", "persistence", module + "/access", true},
		{"persistence/tx.go", "persistence", module + "/persistence/pgserver", false},
		{"persistence/pgserver/start.go", "pgserver", module + "/persistence", false},
		{"access/self.go", "access", module + "/persistence", true},
		{"events/emit.go", "events", module + "/persistence/mapping", false},
		{"events/emit.go", "events", module + "/usecase", true},
		{"events/emit_test.go", "events", module + "/usecase", true},
		{"events/emit_test.go", "events_test", module + "/kernel/kerneltest", false},
		{"events/emit_test.go", "events_test", module + "/sampleapp", true},
		{"usecase/call.go", "usecase", module + "/events", false},
		{"usecase/call.go", "usecase", module + "/delivery", true},
		{"delivery/claim.go", "delivery", module + "/events", false},
		{"delivery/claim.go", "delivery", module + "/usecase", true},
		{"delivery/broker/relay.go", "broker", module + "/kernel", true},
		{"observability/metrics.go", "observability", module + "/delivery", false},
		{"observability/metrics.go", "observability", module + "/boot", true},
		{"boot/run.go", "boot", module + "/observability", false},
		{"boot/run.go", "boot", module + "/kernel", true},
		{"kernel/main.go", "kernel", module + "/boot", false},
		{"kernel/main.go", "kernel", module + "/integration", true},
		{"kernel/main.go", "kernel", module + "/common", true},
		{"kernel/main.go", "kernel", module, true},
		{"common/main.go", "common", module + "/access", true},
		{"sampleapp/main.go", "main", module + "/kernel", false},
		{"sampleapp/tours/tour.go", "tours", module + "/sampleapp/money", false},
		{"integration/crash_test.go", "integration", module + "/sampleapp", true},
		{"integration/crash_test.go", "integration", module + "/delivery", false},

		{"kernel/module.go", "kernel", "go.uber.org/fx", false},
		{"boot/module.go", "boot", "go.uber.org/fx/fxevent", false},
		{"usecase/declare_service.go", "usecase", "go.uber.org/fx", false},
		{"usecase/call.go", "usecase", "go.uber.org/fx", true},
		{"usecase/call_test.go", "usecase", "go.uber.org/fx", false},
		{"delivery/declare.go", "delivery", "go.uber.org/fx", true},
		{"persistence/tx.go", "persistence", "go.uber.org/fx/fxtest", true},
		{"persistence/declare.go", "persistence", "go.uber.org/fx", false},
		{"persistence/mapping/declare.go", "mapping", "go.uber.org/fx", true},

		{"delivery/claim.go", "delivery", "github.com/stretchr/testify/require", true},
		{"delivery/claim_test.go", "delivery", "github.com/stretchr/testify/require", false},
		{"kernel/main.go", "kernel", "github.com/stretchr/testify/require", true},
		{"kernel/kerneltest/new.go", "kerneltest", "github.com/stretchr/testify/require", false},
		{"persistence/map.go", "persistence", "pgregory.net/rapid", true},
		{"access/self.go", "access", "go.uber.org/goleak", true},
		{"persistence/open.go", "persistence", "github.com/jackc/pgx/v5/stdlib", true},
		{"delivery/admin/jobs.go", "admin", "github.com/spf13/cobra", true},
		{"boot/commands.go", "boot", "github.com/spf13/cobra", false},
		{"sampleapp/main.go", "main", "github.com/spf13/cobra", false},
		{"delivery/observe.go", "delivery", "github.com/prometheus/client_golang/prometheus", true},
		{"observability/metrics.go", "observability", "github.com/prometheus/client_golang/prometheus", false},
		{"events/observe.go", "events", "go.opentelemetry.io/otel/trace", true},
		{"observability/trace.go", "observability", "go.opentelemetry.io/otel/trace", false},
		{"observability/trace.go", "observability", "go.opentelemetry.io/otel/sdk/trace", true},
		{"integration/traces/traces_test.go", "traces", "go.opentelemetry.io/otel/sdk/trace", false},
	} {
		why := objection(source{test.file, test.pkg}, test.imported)
		require.Equal(t, test.forbidden, why != "", "%s imports %s: %q", test.file, test.imported, why)
	}

	for _, name := range []string{"kernel", "docs", "sampleapp", ".git"} {
		require.Empty(t, folderObjection(name), name)
	}
	require.NotEmpty(t, folderObjection("common"))
}

// A forbidden import is found in a file of another platform, in a test and
// deep in a room, not only where the go command would look today.
func TestArchitectureWalkReachesEveryFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	want := []string{"access/a_windows.go", "access/a_test.go", "access/deep/er/a.go"}
	for _, file := range append(want, "access/testdata/a.go", ".git/a.go") {
		require.NoError(t, os.MkdirAll(filepath.Join(root, path.Dir(file)), 0o755))
		text := "package access\n\nimport _ \"" + module + "/kernel\"\n"
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o644))
	}
	var got []string
	err := eachImport(root, func(s source, imported string) {
		if objection(s, imported) != "" {
			got = append(got, s.file)
		}
	})
	require.NoError(t, err)
	require.ElementsMatch(t, want, got)
}
