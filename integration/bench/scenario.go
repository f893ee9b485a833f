package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
)

// scenario is one kind of work that several contenders do.
type scenario struct {
	name, unit string
	contenders []contender
}

// contender does the work once and returns the figure.
type contender struct {
	name string
	run  func(context.Context) (float64, error)
}

// result is what a scenario gave.
type result struct {
	Scenario string `json:"scenario"`
	Unit     string `json:"unit"`
	Rows     []row  `json:"rows"`
}

// row is what one contender gave. Ratios are to the first contender, per round,
// so that a slow minute of the machine weighs on both.
type row struct {
	Contender string    `json:"contender"`
	Values    []float64 `json:"values"`
	Median    float64   `json:"median"`
	Ratios    []float64 `json:"ratios"`
	Ratio     float64   `json:"ratio"`
}

// run has every contender work once per round, in turn.
func (s scenario) run(ctx context.Context, rounds int) (result, error) {
	r := result{Scenario: s.name, Unit: s.unit}
	for _, c := range s.contenders {
		r.Rows = append(r.Rows, row{Contender: c.name})
	}
	for round := range rounds {
		for i, c := range s.contenders {
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s\n", s.name, round+1, rounds, c.name)
			value, err := c.run(ctx)
			if err != nil {
				return r, fmt.Errorf("%s: %s: %w", s.name, c.name, err)
			}
			r.Rows[i].Values = append(r.Rows[i].Values, value)
			r.Rows[i].Ratios = append(r.Rows[i].Ratios, value/r.Rows[0].Values[round])
		}
	}
	for i := range r.Rows {
		r.Rows[i].Median, r.Rows[i].Ratio = median(r.Rows[i].Values), median(r.Rows[i].Ratios)
	}
	return r, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

func (r result) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s (%s)\n", r.Scenario, r.Unit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "contender\tmedian\tleast\tmost\tbeside the first\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%.4g\t%.2f\t\n", row.Contender, row.Median, slices.Min(row.Values), slices.Max(row.Values), row.Ratio)
	}
	_ = t.Flush()
}
