package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/sampleapp/demo"
)

// asProgram has the test binary be the program: black-box tests run it, and so
// do the demo's own child processes.
const asProgram = "SAMPLEAPP_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(pgtest.Main(m))
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	c.WaitDelay = 10 * time.Second
	return c
}

// runDemo runs the demo and returns its exit code, its text and its books.
func runDemo(t *testing.T, args ...string) (int, string, demo.Books) {
	t.Helper()
	var out bytes.Buffer
	c := program(t, append([]string{"demo", "--json"}, args...)...)
	c.Stdout, c.Stderr = &out, t.Output()
	_ = c.Run() // the exit code tells
	text := strings.TrimSuffix(out.String(), "\n")
	last := text[strings.LastIndex(text, "\n")+1:]
	var books demo.Books
	decoder := json.NewDecoder(strings.NewReader(last))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&books), text)
	return c.ProcessState.ExitCode(), text, books
}

func TestTheDemoBalancesItsBooks(t *testing.T) {
	t.Parallel()
	code, text, books := runDemo(t)
	require.Zero(t, code, text)
	require.Equal(t, demo.Books{
		Emitted: 8, Stored: 8, Delivered: 4, Retried: 1, Recovered: 1, Failed: 1, Blocked: 1,
	}, books)
	require.Contains(t, text, "signal: killed")
	require.Regexp(t, regexp.MustCompile(`\{"emitted":8,"stored":8,"delivered":4,"retried":1,"recovered":1,"failed":1,"blocked":1,"lost":0,"duplicated":0\}$`), text)
}

func TestTheDemoSeesALostJob(t *testing.T) {
	t.Parallel()
	code, text, books := runDemo(t, "--tamper", `DELETE FROM tidings.delivery WHERE id = (SELECT min(id) FROM tidings.delivery)`)
	require.Equal(t, 1, code)
	require.EqualValues(t, 1, books.Lost)
	require.Zero(t, books.Duplicated)
	require.Contains(t, text, "an event without its job: example.delivery.NotifyCustomer")
}

func TestTheDemoSeesACopiedEffect(t *testing.T) {
	t.Parallel()
	code, text, books := runDemo(t, "--tamper", `INSERT INTO invoice (stop, because, cents) SELECT stop, because, cents FROM invoice`)
	require.Equal(t, 1, code)
	require.Zero(t, books.Lost)
	require.EqualValues(t, 1, books.Duplicated)
	require.Contains(t, text, "one job, 2 effects: example.delivery.InvoiceStop")
}

func TestAnInterruptedDemoLeavesNothing(t *testing.T) {
	t.Parallel()
	place := openDir(t)
	c := program(t, "demo")
	c.Env = append(c.Env, "TIDINGS_PG_TMP="+place)
	c.Stderr = t.Output()
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	for lines := bufio.NewScanner(out); !strings.Contains(lines.Text(), "worker-1 is up"); {
		require.True(t, lines.Scan(), "it ended before its worker was up")
	}
	busy, err := filepath.Glob(filepath.Join(place, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, busy)
	require.NoError(t, c.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.Error(t, c.Wait())
	require.Equal(t, 1, c.ProcessState.ExitCode())
	left, err := filepath.Glob(filepath.Join(place, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// openDir is t.TempDir for what another user must be able to enter: as root,
// PostgreSQL runs as one.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sampleapp-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	return dir
}

var served = regexp.MustCompile(`API is served addr=(\S+)`)

// serve runs serve --dev on a folder until the test calls stop.
func serve(t *testing.T, dir string) (url string, stop func()) {
	t.Helper()
	c := program(t, "serve", "--dev", "--dev-dir", dir, "--admin-addr", "off")
	c.Env = append(c.Env, "TIDINGS_HTTP_ADDR=127.0.0.1:0")
	log, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	var text strings.Builder
	for lines := bufio.NewScanner(log); url == ""; {
		require.True(t, lines.Scan(), text.String())
		text.WriteString(lines.Text() + "\n")
		if m := served.FindStringSubmatch(lines.Text()); m != nil {
			url = "http://" + m[1]
		}
	}
	return url, func() {
		require.NoError(t, c.Process.Signal(os.Interrupt))
		rest, err := io.ReadAll(log)
		require.NoError(t, err)
		require.NoError(t, c.Wait(), text.String()+string(rest))
	}
}

func TestServeKeepsItsDataAcrossRestarts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openDir(t), "pgdata")
	board := func(url string) string {
		response, err := http.Get(url + "/board")
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(body)
	}
	url, stop := serve(t, dir)
	const tour = `{"day": "2026-03-02", "driver": "Frances", "stops": [{"name": "Ada", "email": "ada@example.com",
		"address": {"street": "Main Street 1", "zip": "10115", "city": "Berlin"}}]}`
	response, err := http.Post(url+"/tours", "application/json", strings.NewReader(tour))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)
	before := board(url)
	require.Contains(t, before, "Frances")
	stop()
	url, stop = serve(t, dir)
	require.Equal(t, before, board(url))
	stop()
}
