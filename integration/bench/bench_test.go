package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if isChild, err := childMain(context.Background()); isChild {
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Every contender of every scenario does its work and measures something.
func TestEveryScenarioRuns(t *testing.T) {
	o, err := parse([]string{
		"-full", "-rounds=1", "-seconds=100ms", "-drift=1s", "-jobs=200", "-few=200", "-many=20000", "-most=3000", "-listeners=3", "-usecases=1",
	})
	require.NoError(t, err)
	o.durable = false
	r, err := bench(t.Context(), o, t.Output())
	require.NoError(t, err)
	require.Len(t, r.Results, len(scenarios))
	for i, result := range r.Results {
		require.Equal(t, scenarios[i].name, result.Scenario)
		for _, row := range result.Rows {
			require.Len(t, row.Figures, len(result.Columns))
			require.Len(t, row.Ratios, len(result.Beside))
			require.Positive(t, row.Figures[0].Median, row.Contender)
		}
	}
}
