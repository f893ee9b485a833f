package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// report is what a run leaves behind.
type report struct {
	Began    time.Time         `json:"began"`
	Took     string            `json:"took"`
	Commit   string            `json:"commit"`
	Machine  machine           `json:"machine"`
	Postgres string            `json:"postgres"`
	Settings map[string]string `json:"settings"`
	Flags    map[string]string `json:"flags"`
	Results  []result          `json:"results"`
}

type machine struct {
	System string `json:"system"`
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	Memory string `json:"memory"`
	Go     string `json:"go"`
}

// newReport describes the machine and the server.
func newReport(ctx context.Context, s server, o options) (report, error) {
	r := report{
		Began: time.Now().UTC(), Commit: commit(ctx), Settings: map[string]string{}, Flags: o.flags(),
		Machine: machine{
			System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(),
			CPU:    described("/proc/cpuinfo", "model name"),
			Memory: described("/proc/meminfo", "MemTotal"),
		},
	}
	db, err := s.database(ctx, "postgres", 1)
	if err != nil {
		return r, err
	}
	defer db.Close()
	if err := db.GetContext(ctx, &r.Postgres, `SHOW server_version`); err != nil {
		return r, err
	}
	rows, err := db.QueryContext(ctx, `SELECT name, current_setting(name) FROM pg_settings
		WHERE source NOT IN ('default', 'client', 'override') OR name IN ('fsync', 'synchronous_commit', 'full_page_writes')`)
	if err != nil {
		return r, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return r, err
		}
		r.Settings[name] = value
	}
	return r, rows.Err()
}

// described returns the value of a line "name : value" of a file of /proc, or ""
// where there is none.
func described(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// commit names the commit that is measured, with a mark if files were changed
// since, or "".
func commit(ctx context.Context) string {
	out, _ := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	return strings.TrimSpace(string(out))
}

// write writes the report as JSON.
func (r report) write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// head prints what the tables below it were measured on.
func (r report) head(w io.Writer) {
	fmt.Fprintf(w, "Commit %s, %s. %s, %d × %s, %s memory, %s, PostgreSQL %s, fsync %s, synchronous_commit %s. Medians of the rounds, with the least and the most.\n",
		r.Commit, r.Began.Format("2006-01-02 15:04"), r.Machine.System, r.Machine.CPUs, r.Machine.CPU, r.Machine.Memory, r.Machine.Go,
		r.Postgres, r.Settings["fsync"], r.Settings["synchronous_commit"])
}

// table prints the result as a table in Markdown.
func (r result) table(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n%s\n\n| |", r.Scenario, r.About)
	for _, c := range r.Columns {
		fmt.Fprintf(w, " %s |", c)
	}
	for _, b := range r.Beside {
		fmt.Fprintf(w, " × %s |", b)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(r.Columns)+len(r.Beside)))
	for _, row := range r.Rows {
		fmt.Fprintf(w, "| %s |", row.Contender)
		for _, f := range append(row.Figures, row.Ratios...) {
			fmt.Fprintf(w, " %s |", f)
		}
		fmt.Fprintln(w)
	}
}

func (s spread) String() string {
	if s.Most == 0 {
		return "–" // not measured on this system
	}
	if len(s.Rounds) == 1 {
		return number(s.Median)
	}
	return fmt.Sprintf("**%s** (%s–%s)", number(s.Median), number(s.Least), number(s.Most))
}

// number writes three digits that matter, and thousands with a comma.
func number(v float64) string {
	switch {
	case v >= 1000:
		text := strconv.Itoa(int(v + 0.5))
		for at := len(text) - 3; at > 0; at -= 3 {
			text = text[:at] + "," + text[at:]
		}
		return text
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
