package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// options are the sizes of a run.
type options struct {
	rounds  int
	seconds time.Duration
	jobs    int
	only    []string
	json    string
}

func main() {
	var o options
	var only string
	flag.IntVar(&o.rounds, "rounds", 3, "how often each contender of a scenario runs, in turn")
	flag.DurationVar(&o.seconds, "seconds", 5*time.Second, "how long a run by time takes")
	flag.IntVar(&o.jobs, "jobs", 10000, "how many jobs a run by number has")
	flag.StringVar(&only, "only", "", "names of scenarios, separated by commas; default all")
	flag.StringVar(&o.json, "json", "", "also write the results to this file")
	flag.Parse()
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, o options) (err error) {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	all := []scenario{processScenario(s, o), emitScenario(s, o), latencyScenario(s, o)}
	for _, name := range o.only {
		if !slices.ContainsFunc(all, func(c scenario) bool { return c.name == name }) {
			return fmt.Errorf("no scenario %q", name)
		}
	}
	var results []result
	for _, c := range all {
		if len(o.only) > 0 && !slices.Contains(o.only, c.name) {
			continue
		}
		r, err := c.run(ctx, o.rounds)
		if err != nil {
			return err
		}
		r.print(os.Stdout)
		results = append(results, r)
	}
	if o.json == "" {
		return nil
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, append(text, '\n'), 0o644)
}
