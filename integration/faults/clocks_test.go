//go:build unix

package faults_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// clockReaders are the functions of the rooms that touch stored events and jobs
// which read the node's clock, and what for. None of it reaches SQL, but the
// occurrence time of an event that nobody stores. Whoever adds one looks where
// its value goes first.
var clockReaders = map[string]string{
	"delivery/backlog.go exact":     "the pace of a metric",
	"delivery/buffers.go start":     "a pause between two claims",
	"delivery/claim.go claim":       "a pause between two claims",
	"delivery/claim.go take":        "how long a job waited, for a metric",
	"delivery/claim.go claimFailed": "when to try again",
	"delivery/claim.go claimReady":  "when to begin at the oldest job again",
	"delivery/claimer.go claimer":   "when to renew, and readiness",
	"delivery/claimer.go tick":      "when to poll and to renew",
	"delivery/claimer.go wait":      "a pause between two claims",
	"delivery/engine.go Start":      "readiness",
	"delivery/engine.go grace":      "what is left of a deadline",
	"delivery/group.go":             "whether the listeners took long",
	"delivery/log.go tell":          "the pace of the log",
	"delivery/log.go say":           "the pace of the log",
	"delivery/log.go flush":         "the pace of the log",
	"delivery/node.go register":     "readiness",
	"delivery/node.go Ready":        "readiness",
	"delivery/node.go heartbeat":    "whether the registration was stale for a while",
	"delivery/observe.go":           "how long a job waited, for a metric",
	"delivery/process.go attempt":   "whether the listener took long",
	"events/emit.go emit":           "the occurrence time of an event that is not stored",
}

// claimedSince is in the one statement of the delivery that has times as parameters:
// a claim may begin at the creation time of a job, which came from the database.
const claimedSince = "$8::timestamptz[]) AS want(listener_id, n, since)"

// Contract 13, first half: no value of a node's clock reaches a due time, a lease
// or an age in SQL. It is the property of the source that the tests with wrong
// clocks try.
func TestNoNodesClockReachesTheDatabase(t *testing.T) {
	t.Parallel()
	assigned := regexp.MustCompile(`(?i)\b(\w*_at|@\w*At)"?\s*(=|<|>|<=|>=)\s*\$`)
	cast := regexp.MustCompile(`\$\d+::(timestamp|timestamptz|date)`)
	read := map[string]bool{}
	for _, file := range sources(t, "delivery", "events", "persistence", "usecase", "access") {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.Join("../..", file), nil, 0)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			where := file
			if f, ok := d.(*ast.FuncDecl); ok {
				where += " " + f.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until"}, n.Sel.Name) {
						known := where
						if clockReaders[where] == "" {
							known = file
						}
						read[known] = true
						if clockReaders[known] == "" {
							t.Errorf("%s reads the node's clock (%s): see that its value reaches no due time, lease or age in SQL, then add it here", where, set.Position(n.Pos()))
						}
					}
				case *ast.BasicLit:
					text, _ := strconv.Unquote(n.Value)
					if n.Kind != token.STRING || !strings.Contains(text, "$") {
						return true
					}
					if found := assigned.FindString(text); found != "" {
						t.Errorf("%s sets or compares a time with a parameter: %s…", where, found)
					}
					if cast.MatchString(text) && file != "events/store_sql.go" && !strings.Contains(text, claimedSince) {
						t.Errorf("%s has a parameter that is a time: %s", where, text)
					}
				}
				return true
			})
		}
	}
	for where := range clockReaders {
		require.True(t, read[where], "%s reads no clock any more", where)
	}
}

// judgeTimes holds every stored time against the database's clock, from which
// the nodes' clocks differ by ten minutes.
func (f *fleet) judgeTimes() {
	f.t.Helper()
	for _, column := range []string{
		"created_at", "due_at", "first_attempt_at", "last_attempt_at", "completed_at", "failed_at", "lease_expires_at",
	} {
		require.Zero(f.t, f.base.Int(`SELECT count(*) FROM tidings.delivery
			WHERE `+column+` NOT BETWEEN clock_timestamp() - interval '9 minutes' AND clock_timestamp() + interval '1 minute'`), column)
	}
	require.Zero(f.t, f.base.Int(`SELECT count(*) FROM tidings.delivery_history
		WHERE recorded_at NOT BETWEEN clock_timestamp() - interval '9 minutes' AND clock_timestamp()`))
	require.Zero(f.t, f.base.Int(`SELECT count(*) FROM tidings.node WHERE expires_at > clock_timestamp() + interval '1 minute'`))
	require.Zero(f.t, f.base.Int(`SELECT count(*) FROM "lab.delivery"."@event:Task"
		WHERE "@occurredAt" NOT BETWEEN clock_timestamp() - interval '9 minutes' AND clock_timestamp()`))
}

// sources returns the files of rooms that go into programs, from the root.
func sources(t *testing.T, rooms ...string) (files []string) {
	t.Helper()
	for _, room := range rooms {
		err := filepath.WalkDir(filepath.Join("../..", room), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
			// Test servers, commands and test kits do not deliver.
			for _, other := range []string{"persistence/pgserver", "persistence/migrate", "persistence/mapping/maptest"} {
				if name == other {
					return fs.SkipDir
				}
			}
			if !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				files = append(files, name)
			}
			return nil
		})
		require.NoError(t, err)
	}
	require.Greater(t, len(files), 50, fmt.Sprint(files))
	return files
}
