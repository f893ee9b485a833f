package mapping_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/mapping"
)

func TestRowsThatDoNotAddUpAreErrors(t *testing.T) {
	t.Parallel()
	type event struct {
		Lines []struct{ Tags []string }
		By    map[string]int8
	}
	p := mustPlan(t, reflect.TypeFor[event]())
	type row struct {
		table int
		cells []any
	}
	root := func(lines, by any) row { return row{0, []any{lines, by}} }
	for name, tt := range map[string]struct {
		rows []row
		want string // empty: no error
	}{
		"whole": {[]row{
			root(int64(2), int64(1)),
			{1, []any{int64(1), nil}},
			{1, []any{int64(0), int64(2)}},
			{2, []any{int64(0), int64(1), "b"}},
			{2, []any{int64(0), int64(0), "a"}},
			{3, []any{"k", int64(1)}},
		}, ""},
		"lost row":             {[]row{root(int64(2), nil), {1, []any{int64(0), nil}}}, "Lines: value cannot be rebuilt: 1 rows of 2 elements"},
		"all lost":             {[]row{root(nil, int64(3))}, "By: value cannot be rebuilt: 0 rows of 3 elements"},
		"more rows":            {[]row{root(int64(0), nil), {1, []any{int64(0), nil}}}, "Lines: value cannot be rebuilt: there are more rows than elements"},
		"rows of nothing":      {[]row{root(nil, nil), {3, []any{"k", int64(1)}}}, "By: value cannot be rebuilt: there are more rows than elements"},
		"rows of no parent":    {[]row{root(int64(1), nil), {1, []any{int64(0), int64(1)}}, {2, []any{int64(7), int64(0), "a"}}}, "Lines[0].Tags: value cannot be rebuilt: 0 rows of 1 elements"},
		"position twice":       {[]row{root(int64(2), nil), {1, []any{int64(0), nil}}, {1, []any{int64(0), nil}}}, "Lines: value cannot be rebuilt: position 0 twice"},
		"position beyond":      {[]row{root(int64(1), nil), {1, []any{int64(1), nil}}}, "position 1 of 1 elements"},
		"negative position":    {[]row{root(int64(1), nil), {1, []any{int64(-1), nil}}}, "position -1 of 1 elements"},
		"position of a driver": {[]row{root(int64(1), nil), {1, []any{true, nil}}}, "the driver returned bool"},
		"count of a driver":    {[]row{root(true, nil)}, "Lines: value cannot be rebuilt: the driver returned bool"},
		"negative count":       {[]row{root(int64(-1), nil)}, "0 rows of -1 elements"},
		"key twice":            {[]row{root(nil, int64(2)), {3, []any{"k", int64(1)}}, {3, []any{"k", int64(2)}}}, "By: value cannot be rebuilt: 1 keys in 2 rows"},
		"bad element":          {[]row{root(nil, int64(1)), {3, []any{"k", int64(300)}}}, `By["k"]: value cannot be rebuilt: 300 is out of the range of int8`},
		"null key":             {[]row{root(nil, int64(1)), {3, []any{nil, int64(3)}}}, `: value cannot be rebuilt: column is null`},
		"short row":            {[]row{root(int64(1), nil), {1, []any{}}}, "0 targets for 2 columns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := p.NewRecord()
			for _, r := range tt.rows {
				targets := scanned(p, r.table, r.cells...)
				if len(r.cells) == 0 {
					targets = nil
				}
				record.Add(r.table, targets)
			}
			got, err := p.Decode(record)
			if tt.want == "" {
				require.NoError(t, err)
				require.Equal(t, event{[]struct{ Tags []string }{{[]string{"a", "b"}}, {}}, map[string]int8{"k": 1}}, got)
				return
			}
			require.ErrorIs(t, err, mapping.ErrRebuild)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestARecordKnowsWhichTablesItNeeds(t *testing.T) {
	t.Parallel()
	type event struct {
		Lines []struct{ Tags []string }
		By    map[string]int
	}
	p := mustPlan(t, reflect.TypeFor[event]())
	record := p.NewRecord()
	require.True(t, record.Expects(0))
	record.Add(0, scanned(p, 0, int64(1), int64(0)))
	require.True(t, record.Expects(1))
	require.False(t, record.Expects(2), "no line has a tag yet")
	require.False(t, record.Expects(3), "an empty map has no rows")
	record.Add(1, scanned(p, 1, int64(0), int64(1)))
	require.True(t, record.Expects(2))
}

// Rows are written in statements of bounded size, however many they are.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	type event struct {
		N []int
		S []string
	}
	p := mustPlan(t, reflect.TypeFor[event]())
	v := event{N: make([]int, 25_000), S: []string{strings.Repeat("x", 3<<20), strings.Repeat("y", 3<<20), "z"}}
	rows, err := p.Encode(&v)
	require.NoError(t, err)
	require.Equal(t, []int{1, 25_000, 3}, []int{rows.Len(0), rows.Len(1), rows.Len(2)})
	count := func(table int) (sizes []int) {
		for args := range rows.Batches(table) {
			sizes = append(sizes, strings.Count(args[0].(string), ",")+1)
		}
		return sizes
	}
	require.Equal(t, []int{10_000, 10_000, 5_000}, count(1))
	require.Equal(t, []int{2, 1}, count(2))
	for range rows.Batches(1) {
		break // a reader may stop
	}
	rows, err = p.Encode(event{N: []int{}})
	require.NoError(t, err)
	require.Empty(t, count(1))
}
