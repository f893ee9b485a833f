package integration

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// quickstart returns the source of the README's app from its package clause on.
func quickstart(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("quickstart/main.go")
	require.NoError(t, err)
	_, code, ok := strings.Cut(string(source), "package main")
	require.True(t, ok)
	return "package main" + strings.TrimRight(code, "\n")
}

func TestTheReadmeShowsTheAppThatIsTested(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), "```go\n"+quickstart(t)+"\n```")
	require.LessOrEqual(t, strings.Count(quickstart(t), "\n"), 42, "the README promises a small app")
}

func TestTheAppOfTheReadmeDelivers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	binary := filepath.Join(dir, "quickstart")
	build, err := exec.Command("go", "build", "-o", binary, "./quickstart").CombinedOutput()
	require.NoError(t, err, string(build))

	app := exec.Command(binary, "serve", "--dev", "--admin-addr", "off", "--dev-dir", devDir(t))
	app.Stderr = os.Stderr
	out, err := app.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, app.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "invoice for Ada attempt 1")
	require.NoError(t, app.Process.Signal(os.Interrupt))
	require.NoError(t, app.Wait(), "an interrupted app ends without an error")
}

// devDir returns a data folder that also the unprivileged user of the embedded
// server can enter, which t.TempDir's parents may not allow.
func devDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "quickstart")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "pgdata")
}
