package main

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// scenario is one kind of work that several contenders do.
type scenario struct {
	name, about string
	columns     []string // what a contender measures; ratios are of the first
	beside      []base
	rounds      int // 0: as the options say
	contenders  []contender
}

// base is a contender that others are put beside. Ratios are taken per round, so
// that a slow minute of the machine weighs on both.
type base struct{ label, contender string }

// contender does the work once and returns a figure for each column.
type contender struct {
	name string
	run  func(context.Context) ([]float64, error)
}

func (s *scenario) add(name string, run func(context.Context) ([]float64, error)) {
	s.contenders = append(s.contenders, contender{name, run})
}

// result is what a scenario gave.
type result struct {
	Scenario string   `json:"scenario"`
	About    string   `json:"about"`
	Columns  []string `json:"columns"`
	Beside   []string `json:"beside"`
	Rows     []row    `json:"rows"`
}

// row is what one contender gave: figures by column, ratios by base.
type row struct {
	Contender string   `json:"contender"`
	Figures   []spread `json:"figures"`
	Ratios    []spread `json:"ratios"`
}

// spread is what the rounds gave for one figure.
type spread struct {
	Median float64   `json:"median"`
	Least  float64   `json:"least"`
	Most   float64   `json:"most"`
	Rounds []float64 `json:"rounds"`
}

// run has every contender work once per round, in turn.
func (s scenario) run(ctx context.Context, rounds int) (result, error) {
	if s.rounds > 0 {
		rounds = min(rounds, s.rounds)
	}
	figures := make([][][]float64, len(s.contenders)) // by contender and round
	for round := range rounds {
		for i, c := range s.contenders {
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s\n", s.name, round+1, rounds, c.name)
			f, err := c.run(ctx)
			if err != nil {
				return result{}, fmt.Errorf("%s: %s: %w", s.name, c.name, err)
			}
			figures[i] = append(figures[i], f)
		}
	}
	return s.result(figures), nil
}

func (s scenario) result(figures [][][]float64) result {
	r := result{Scenario: s.name, About: s.about, Columns: s.columns}
	for _, b := range s.beside {
		r.Beside = append(r.Beside, b.label)
	}
	for i, c := range s.contenders {
		row := row{Contender: c.name}
		for column := range s.columns {
			row.Figures = append(row.Figures, spreadOf(figures[i], func(round int) float64 { return figures[i][round][column] }))
		}
		for _, b := range s.beside {
			other := slices.IndexFunc(s.contenders, func(c contender) bool { return c.name == b.contender })
			row.Ratios = append(row.Ratios, spreadOf(figures[i], func(round int) float64 {
				return figures[i][round][0] / figures[other][round][0]
			}))
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func spreadOf(rounds [][]float64, at func(round int) float64) spread {
	values := make([]float64, len(rounds))
	for round := range rounds {
		values[round] = at(round)
	}
	return spread{percentile(values, 50), slices.Min(values), slices.Max(values), values}
}

// percentile returns the value below which p percent of the values lie, between
// two of them in proportion.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := p / 100 * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}
