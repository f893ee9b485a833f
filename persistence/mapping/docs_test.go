package mapping_test

import (
	"database/sql"
	"flag"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/mapping/maptest"
)

var update = flag.Bool("update", false, "write the table of docs/storage.md instead of comparing it")

// documented has, for each row of the table of mappings, fields as the docs show
// them.
var documented = map[string][]struct {
	text string
	typ  reflect.Type
}{
	"bool":                {{"bool", reflect.TypeFor[bool]()}},
	"int8, int16, uint8":  {{"int8", reflect.TypeFor[int8]()}, {"int16", reflect.TypeFor[int16]()}, {"uint8", reflect.TypeFor[uint8]()}},
	"int32, uint16":       {{"int32", reflect.TypeFor[int32]()}, {"uint16", reflect.TypeFor[uint16]()}},
	"int, int64, uint32":  {{"int, int64", reflect.TypeFor[int64]()}, {"uint32", reflect.TypeFor[uint32]()}},
	"uint, uint64":        {{"uint, uint64", reflect.TypeFor[uint64]()}},
	"big.Int":             {{"big.Int, *big.Int", reflect.TypeFor[big.Int]()}},
	"float32, float64":    {{"float32", reflect.TypeFor[float32]()}, {"float64", reflect.TypeFor[float64]()}},
	"string":              {{"string", reflect.TypeFor[string]()}},
	"[]byte":              {{"[]byte", reflect.TypeFor[[]byte]()}},
	"uuid.UUID, [16]byte": {{"uuid.UUID, [16]byte", reflect.TypeFor[uuid.UUID]()}},
	"decimal.Decimal":     {{"decimal.Decimal", reflect.TypeFor[decimal.Decimal]()}},
	"time.Time":           {{"time.Time", reflect.TypeFor[time.Time]()}},
	"time.Duration":       {{"time.Duration", reflect.TypeFor[time.Duration]()}},
	"enum":                {{"enum: `red`, `green`", reflect.TypeFor[hue]()}},
	"struct":              {{"struct{ Street, City string }", reflect.TypeFor[Address]()}},
	"*T": {
		{"*int64", reflect.TypeFor[*int64]()},
		{"*struct{ Street, City string }", reflect.TypeFor[*Address]()},
		{"*struct{ A, B *int }", reflect.TypeFor[*allNil]()},
	},
	"sql.Null[T]":    {{"sql.Null[string]", reflect.TypeFor[sql.Null[string]]()}},
	"[]T":            {{"[]string", reflect.TypeFor[[]string]()}, {"[]struct{ Street, City string }", reflect.TypeFor[[]Address]()}, {"[][]int64", reflect.TypeFor[[][]int64]()}},
	"map[T]struct{}": {{"map[string]struct{}", reflect.TypeFor[map[string]struct{}]()}},
	"map[K]V":        {{"map[string]int64", reflect.TypeFor[map[string]int64]()}, {"map[string][]int64", reflect.TypeFor[map[string][]int64]()}},
	"codec":          {{"codec to struct{ Street, City string }", reflect.TypeFor[secret]()}},
}

type hue int

// storage writes the tables of a type with one field V.
func storage(t *testing.T, typ reflect.Type) string {
	p := mustPlan(t, reflect.StructOf([]reflect.StructField{{Name: "V", Type: typ}}), registry(t,
		mapping.Enum(map[hue]string{0: "red", 1: "green"}),
		mapping.Codec(func(secret) Address { return Address{} }, func(Address) (secret, error) { return secret{}, nil })))
	var lines []string
	for _, table := range p.Tables() {
		var columns []string
		for _, c := range table.Columns {
			column := c.Name + " " + c.Type
			if !c.NotNull {
				column += " NULL"
			}
			columns = append(columns, "`"+column+"`")
		}
		for _, c := range table.Checks {
			if !strings.HasPrefix(c.Name, "@count") && !strings.HasPrefix(c.Name, "@position") {
				columns = append(columns, "check `"+strings.ReplaceAll(c.Expression, `"`, "")+"`")
			}
		}
		line := strings.Join(columns, ", ")
		if table.Path != "" {
			line = fmt.Sprintf("table `….%s`: %s, key `%s`", table.Name, line, strings.Join(append([]string{"@event"}, table.Key...), ", "))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "<br>")
}

// The table of the docs is what the code does.
func TestTheDocumentedTableIsTheCodes(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/storage.md", "<!-- begin table: go test ./persistence/mapping -run Documented -update -->\n", "<!-- end table -->"
	table := "| Go type of a field `V` | storage |\n|---|---|\n"
	for _, row := range maptest.Table {
		require.NotEmpty(t, documented[row.Name], row.Name)
		for _, example := range documented[row.Name] {
			name := "`" + example.text + "`"
			if before, after, found := strings.Cut(example.text, ": `"); found {
				name = before + ": `" + after
			}
			table += fmt.Sprintf("| %s | %s |\n", name, storage(t, example.typ))
		}
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has no table to compare", path)
	got, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+table+end+after), 0o644))
		return
	}
	require.Equal(t, table, got, "run the test with -update")
}
