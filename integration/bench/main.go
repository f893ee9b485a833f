package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// options are the sizes of a run.
type options struct {
	full    bool
	only    string
	json    string
	rounds  int
	seconds time.Duration
	drift   time.Duration
	jobs    int

	few, many, most int // of jobs in the table
	listeners       int // of a node that has many
	usecases        int // of an app that has many

	set     *flag.FlagSet
	durable bool // the server keeps PostgreSQL's durability; the bench's own test does without
}

func parse(args []string) (options, error) {
	o := options{durable: true, set: flag.NewFlagSet("bench", flag.ContinueOnError)}
	f := o.set
	f.BoolVar(&o.full, "full", false, "run all scenarios; else process, emit, latency, grouped")
	f.StringVar(&o.only, "only", "", "run these scenarios, separated by commas")
	f.StringVar(&o.json, "json", ".tidings/bench.json", "write the results to this file")
	f.IntVar(&o.rounds, "rounds", 3, "how often each contender of a scenario runs, in turn")
	f.DurationVar(&o.seconds, "seconds", 4*time.Second, "how long a run by time takes")
	f.DurationVar(&o.drift, "drift", time.Minute, "how long claims are watched for drift")
	f.IntVar(&o.jobs, "jobs", 8_000, "how many jobs a run by number has")
	f.IntVar(&o.few, "few", 10_000, "jobs of a small backlog")
	f.IntVar(&o.many, "many", 1_000_000, "jobs of a large backlog")
	f.IntVar(&o.most, "most", 10_000_000, "finished jobs of a large table")
	f.IntVar(&o.listeners, "listeners", 200, "listeners of a node that has many")
	f.IntVar(&o.usecases, "usecases", 200, "usecases of an app that has many")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	return o, nil
}

// flags are the values of all flags, by name.
func (o options) flags() map[string]string {
	all := map[string]string{}
	o.set.VisitAll(func(f *flag.Flag) { all[f.Name] = f.Value.String() })
	return all
}

// scenarios are all scenarios, in the order in which they run. The quick ones run
// without the flag -full.
var scenarios = []struct {
	name  string
	quick bool
	make  func(server, options) scenario
}{
	{"process", true, processScenario},
	{"emit", true, emitScenario},
	{"latency", true, latencyScenario("latency", 50)},
	{"grouped", true, groupedScenario},
	{"latency-busy", false, latencyScenario("latency-busy", 500)},
	{"drain", false, drainScenario},
	{"claim", false, claimScenario},
	{"drift", false, driftScenario},
	{"memory", false, memoryScenario},
	{"shape", false, shapeScenario},
	{"allocations", false, allocationsScenario},
	{"usecases", false, usecasesScenario},
}

// chosen returns the scenarios that the options ask for.
func (o options) chosen(s server) ([]scenario, error) {
	var chosen []scenario
	only := strings.FieldsFunc(o.only, func(r rune) bool { return r == ',' })
	for _, c := range scenarios {
		at := slices.Index(only, c.name)
		if at >= 0 {
			only = slices.Delete(only, at, at+1)
		}
		if at >= 0 || o.only == "" && (o.full || c.quick) {
			chosen = append(chosen, c.make(s, o))
		}
	}
	if len(only) > 0 {
		return nil, fmt.Errorf("no scenario %q", only)
	}
	return chosen, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	isChild, err := childMain(ctx)
	if !isChild {
		err = run(ctx, os.Args[1:])
	}
	switch {
	case errors.Is(err, flag.ErrHelp): // printed
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	r, err := bench(ctx, o, os.Stdout)
	if len(r.Results) > 0 { // those of scenarios that ended, if a later one failed
		err = errors.Join(err, r.write(o.json))
	}
	return err
}

// bench runs the chosen scenarios and prints each when it has ended.
func bench(ctx context.Context, o options, w io.Writer) (r report, err error) {
	s, err := startServer(ctx, o.durable)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	chosen, err := o.chosen(s)
	if err != nil {
		return r, err
	}
	if r, err = newReport(ctx, s, o); err != nil {
		return r, err
	}
	r.head(w)
	for _, c := range chosen {
		result, err := c.run(ctx, o.rounds)
		if err != nil {
			return r, err
		}
		result.table(w)
		r.Results = append(r.Results, result)
	}
	r.Took = time.Since(r.Began).Round(time.Second).String()
	return r, nil
}
