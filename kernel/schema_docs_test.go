package kernel_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence/migrate"
	"github.com/tidings-go/tidings/persistence/schema"
)

// words splits a command line as a shell does, as far as the docs need it.
var words = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)

// What docs/migrations.md says about commands, flags, risks and the notice is
// what the program has.
func TestTheDocsOfMigrationsFitTheProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/migrations.md")
	require.NoError(t, err)
	doc := string(text)
	for line := range strings.Lines(migrate.Notice) {
		require.Contains(t, doc, "> "+line)
	}
	for r := schema.Safe; r <= schema.Destructive; r++ {
		require.Contains(t, doc, "| `"+strings.ToUpper(r.String())+"` |")
	}
	require.Contains(t, doc, "`"+migrate.DefaultDir+"/`")
	require.Contains(t, doc, "`"+migrate.VersionTable+"`")

	lines := regexp.MustCompile(`(?m)^app (.*?)(?:\s+#.*)?$`).FindAllStringSubmatch(doc, -1)
	require.Greater(t, len(lines), 6)
	known := ""
	for _, line := range lines {
		var args []string
		for _, w := range words.FindAllString(line[1], -1) {
			args = append(args, strings.Trim(w, `"'`))
		}
		code, out, errs := command(t, append(args, "--help"))
		require.Equal(t, kernel.ExitOK, code, "%s: %s", line[0], errs)
		require.Contains(t, out, args[0]+" "+args[1], line[0])
	}
	for _, name := range []string{"schema show", "schema plan", "schema check", "schema apply", "schema verify-history", "rename listener", "rename event", "serve"} {
		_, out, _ := command(t, append(strings.Fields(name), "--help"))
		require.Contains(t, out, name)
		known += out
		require.Contains(t, doc+"serve", name)
	}
	for _, flag := range regexp.MustCompile("--[a-z][a-z-]*").FindAllString(doc, -1) {
		require.Contains(t, known, flag+" ", flag)
	}
	// And the other way round: no flag of these commands is left out.
	for _, flag := range regexp.MustCompile(`(?m)^ +(?:-h, )?(--[a-z-]+)`).FindAllStringSubmatch(known, -1) {
		if !strings.Contains("--help --dev-dir --admin-addr --workers", flag[1]) {
			require.Contains(t, doc, flag[1])
		}
	}
}
