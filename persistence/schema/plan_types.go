package schema

import (
	"regexp"
	"strconv"
	"strings"
)

// sqlType is a type as format_type prints it, taken apart.
type sqlType struct {
	base, zone, array string
	mods              []int
}

var typeForm = regexp.MustCompile(`^([a-z][a-z0-9_ ]*?)(?:\((\d+)(?:,(-?\d+))?\))?( with time zone| without time zone)?((?:\[\])*)$`)

func parseType(s string) (sqlType, bool) {
	m := typeForm.FindStringSubmatch(s)
	if m == nil {
		return sqlType{}, false
	}
	t := sqlType{base: m[1], zone: m[4], array: m[5]}
	for _, mod := range m[2:4] {
		if mod != "" {
			n, err := strconv.Atoi(mod)
			if err != nil {
				return sqlType{}, false
			}
			t.mods = append(t.mods, n)
		}
	}
	return t, true
}

// integerDigits are the decimal digits that hold every value of the type.
var integerDigits = map[string]int{"smallint": 5, "integer": 10, "bigint": 19}

// exact names the floating types that hold every value of a type.
var exact = map[string][]string{
	"smallint": {"real", "double precision"},
	"integer":  {"double precision"},
	"real":     {"double precision"},
}

// printable types have one text for each value, whatever the session's settings.
var printable = []string{"smallint", "integer", "bigint", "numeric", "boolean", "uuid"}

// retype tells the risk of changing a column from one type to another: safe if
// PostgreSQL changes the catalog only, rewrite if every value stays equal, else
// destructive, because USING casts cut and round silently. What it does not know
// is destructive.
func retype(from, to string) Risk {
	a, okA := parseType(from)
	b, okB := parseType(to)
	switch {
	case !okA || !okB:
		return Destructive
	case a.array != b.array:
		return Destructive
	case a.array != "":
		a.array, b.array = "", ""
		return max(Rewrite, widen(a, b))
	}
	return widen(a, b)
}

func widen(a, b sqlType) Risk {
	switch {
	case isText(a) && isText(b):
		return widenLength(a, b)
	case a.base == "numeric" && b.base == "numeric":
		return widenNumeric(a.mods, b.mods)
	case a.base == "timestamp" && b.base == "timestamp" && a.zone == b.zone:
		if precision(a) <= precision(b) {
			return Safe
		}
		return Destructive
	case a.base == "date" && b.base == "timestamp" && b.zone == " without time zone":
		return Rewrite
	case b.base == "text" && contains(printable, a.base):
		return Rewrite
	}
	if digits, ok := integerDigits[a.base]; ok && (integerDigits[b.base] > digits || holds(b, digits)) {
		return Rewrite
	}
	if contains(exact[a.base], b.base) {
		return Rewrite
	}
	return Destructive
}

func contains(list []string, s string) bool {
	return strings.Contains("|"+strings.Join(list, "|")+"|", "|"+s+"|")
}

// holds tells whether a numeric type has room for so many digits before the
// point.
func holds(t sqlType, digits int) bool {
	if t.base != "numeric" {
		return false
	}
	whole, _, bounded := numericRoom(t.mods)
	return !bounded || whole >= digits
}

// families of types that PostgreSQL casts into each other.
var families = [][]string{
	{"smallint", "integer", "bigint", "numeric", "real", "double precision"},
	{"timestamp", "date"},
	{"boolean", "integer"},
	{"json", "jsonb"},
}

// cast writes the conversion of a column. Where PostgreSQL has none, it goes
// through the text of the value.
func cast(column, from, to string) string {
	a, _ := parseType(from)
	b, _ := parseType(to)
	direct := isText(a) || isText(b) || a.base == b.base
	for _, family := range families {
		direct = direct || contains(family, a.base) && contains(family, b.base)
	}
	if a.array != b.array || !direct {
		column += "::text"
	}
	return column + "::" + to
}

func isText(t sqlType) bool { return t.base == "text" || t.base == "character varying" }

func widenLength(a, b sqlType) Risk {
	if len(b.mods) == 0 || len(a.mods) > 0 && a.mods[0] <= b.mods[0] {
		return Safe
	}
	return Destructive
}

func widenNumeric(a, b []int) Risk {
	wholeA, scaleA, boundedA := numericRoom(a)
	wholeB, scaleB, boundedB := numericRoom(b)
	switch {
	case !boundedB:
		return Safe
	case !boundedA || wholeB < wholeA || scaleB < scaleA:
		return Destructive
	case scaleA == scaleB:
		return Safe
	}
	return Rewrite
}

func numericRoom(mods []int) (whole, scale int, bounded bool) {
	switch len(mods) {
	case 0:
		return 0, 0, false
	case 1:
		return mods[0], 0, true
	}
	return mods[0] - mods[1], mods[1], true
}

func precision(t sqlType) int {
	if len(t.mods) == 0 {
		return 6
	}
	return t.mods[0]
}

// constantExpression matches expressions that have one value for all rows and
// all times: PostgreSQL keeps it in the catalog instead of writing it to rows.
var constantExpression = regexp.MustCompile(
	`^(?:[eE]?'(?:[^'\\]|''|\\.)*'|[-+]?[0-9]+(?:\.[0-9]+)?|\([-+]?[0-9]+(?:\.[0-9]+)?\)|(?i:true|false|null))(?:::[a-z][a-z0-9_ ]*(?:\([0-9]+(?:,[0-9]+)?\))?(?: with(?:out)? time zone)?(?:\[\])*)?$`)

func isConstant(expression string) bool {
	return constantExpression.MatchString(strings.TrimSpace(expression))
}
