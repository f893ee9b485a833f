package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

// manyUsecases is the source of an app with many usecases.
//
//go:embed usecases.go.tmpl
var manyUsecases string

var manyUsecasesTemplate = template.Must(template.New("main.go").Parse(manyUsecases))

// usecasesScenario: building and starting an app of a usual size: each usecase
// emits an event of its own, which has a deferred listener.
func usecasesScenario(s server, o options) scenario {
	c := scenario{
		name: "usecases", about: "An app whose usecases each emit an event of their own to a deferred listener of its own. Build: after a change, with all that it imports already built.",
		columns: []string{"start ms", "build ms", "program MiB"}, beside: []base{{"1 usecase", usecasesContender(1)}},
	}
	for _, n := range slices.Compact([]int{1, o.usecases}) {
		c.add(usecasesContender(n), func(ctx context.Context) ([]float64, error) { return s.usecases(ctx, n) })
	}
	return c
}

func usecasesContender(n int) string { return fmt.Sprintf("usecases: %d", n) }

func (s server) usecases(ctx context.Context, n int) ([]float64, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := copyModule(ctx, dir); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "program.exe")
	var build time.Duration
	for change := range 2 { // the first build fills the cache
		if err := writeUsecases(filepath.Join(dir, "main.go"), n, change); err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := output(ctx, dir, nil, nil, "go", "build", "-o", program, "."); err != nil {
			return nil, err
		}
		build = time.Since(begin)
	}
	info, err := os.Stat(program)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("usecases%d", n)
	if err := s.drop(ctx, name); err != nil {
		return nil, err
	}
	db, err := s.database(ctx, name, 1)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var answer struct {
		Milliseconds float64
		Usecases     int
	}
	if err := output(ctx, dir, []string{"BENCH_URL=" + s.TCPURL(name)}, &answer, program); err != nil {
		return nil, err
	}
	if answer.Usecases != n {
		return nil, fmt.Errorf("the app called %d usecases of %d", answer.Usecases, n)
	}
	return []float64{answer.Milliseconds, build.Seconds() * 1000, float64(info.Size()) / (1 << 20)},
		s.verify(ctx, name, `SELECT (SELECT count(*) FROM tidings.listener) = $1 AND (SELECT count(*) FROM tidings.delivery) = $1`, n)
}

func writeUsecases(file string, n, change int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = manyUsecasesTemplate.Execute(f, struct {
		Usecases []struct{}
		Change   int
	}{make([]struct{}, n), change})
	if err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// copyModule makes dir a module that needs what the bench's own module needs.
func copyModule(ctx context.Context, dir string) error {
	var bench, kernel struct{ Dir, GoMod string }
	for path, module := range map[string]any{"github.com/tidings-go/tidings/integration": &bench, "github.com/tidings-go/tidings": &kernel} {
		if err := output(ctx, "", nil, module, "go", "list", "-m", "-json", path); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(bench.GoMod)
	if err != nil {
		return err
	}
	mod := strings.Replace(string(text), "=> ../", "=> "+filepath.ToSlash(kernel.Dir), 1)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(bench.Dir, "go.sum"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600)
}

// output runs a program and reads the JSON that it prints into answer, if one is
// wanted. Without the workspace, a folder elsewhere is a module like any other.
func output(ctx context.Context, dir string, env []string, answer any, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if dir != "" {
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(out, answer)
}
