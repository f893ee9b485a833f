package kernel

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.uber.org/dig"

	"github.com/tidings-go/tidings/access"
)

// graph is what fx's container holds, read from its DOT drawing: fx itself stops
// at the first missing dependency, and says no more of it than dig does. Types
// are known by their text alone, so a type of the same name in another package
// of the same name can hide a missing one; fx then reports it.
type graph struct {
	constructors []constructor
	provides     map[string]int // result to its constructor
}

// constructor is one provider with what it needs.
type constructor struct {
	name, pkg string
	needs     []string
}

var (
	dotCluster = regexp.MustCompile(`^subgraph cluster_(\d+) \{$`)
	dotPackage = regexp.MustCompile(`^label = (".*");$`)
	dotName    = regexp.MustCompile(`^constructor_\d+ \[shape=plaintext label=(".*")\];$`)
	dotResult  = regexp.MustCompile(`^("(?:[^"\\]|\\.)*") \[`)
	dotNeed    = regexp.MustCompile(`^constructor_(\d+) -> ("(?:[^"\\]|\\.)*") \[(.*)\];$`)
)

func parseGraph(dot string) graph {
	g := graph{provides: map[string]int{}}
	current := -1
	for line := range strings.Lines(dot) {
		line = strings.TrimSpace(line)
		if m := dotCluster.FindStringSubmatch(line); m != nil {
			current = len(g.constructors)
			g.constructors = append(g.constructors, constructor{})
			continue
		}
		if m := dotNeed.FindStringSubmatch(line); m != nil {
			if i, err := strconv.Atoi(m[1]); err == nil && i < len(g.constructors) && !strings.Contains(m[3], "style=dashed") {
				g.constructors[i].needs = append(g.constructors[i].needs, unquote(m[2]))
			}
			continue
		}
		if line == "}" {
			current = -1
		}
		if current >= 0 {
			g.describe(current, line)
		}
	}
	return g
}

// describe reads one line inside the drawing of a constructor.
func (g *graph) describe(current int, line string) {
	c := &g.constructors[current]
	if m := dotPackage.FindStringSubmatch(line); m != nil {
		c.pkg = unquote(m[1])
	} else if m := dotName.FindStringSubmatch(line); m != nil {
		c.name = unquote(m[1])
	} else if m := dotResult.FindStringSubmatch(line); m != nil {
		g.provides[unquote(m[1])] = current
	}
}

func unquote(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// missing returns an error for every field of d's Deps that the container cannot
// fill, with the true cause: nothing provides it, or its provider lacks
// something, however deep.
func (g graph) missing(d *access.Declaration) []error {
	if d.Deps == nil || d.Deps.Kind() != reflect.Struct {
		return nil
	}
	var errs []error
	for i := range d.Deps.NumField() {
		f := d.Deps.Field(i)
		handle := f.Type.Implements(handleType) && f.Type.Kind() == reflect.Struct
		if !f.IsExported() || f.Tag.Get("group") != "" || access.IsOptional(f) || handle || dig.IsIn(f.Type) {
			continue // unfillable, filled with what there is, checked as a handle, or an fx.In
		}
		want := f.Type.String()
		if name := f.Tag.Get("name"); name != "" {
			want += "[name=" + name + "]"
		}
		if cause := g.lacks(want, map[string]bool{}); cause != "" {
			errs = append(errs, fmt.Errorf("%s: field %s of its Deps: %s", d, f.Name, cause))
		}
	}
	return errs
}

// lacks says why want cannot be built, or "".
func (g graph) lacks(want string, seen map[string]bool) string {
	if seen[want] {
		return "" // a cycle, which fx reports
	}
	seen[want] = true
	i, ok := g.provides[want]
	if !ok {
		return fmt.Sprintf("nothing provides %s", want)
	}
	c := g.constructors[i]
	for _, need := range c.needs {
		if strings.HasPrefix(need, "[type=") {
			continue // a value group may be empty
		}
		if cause := g.lacks(need, seen); cause != "" {
			return fmt.Sprintf("%s is provided by %s.%s, which lacks something: %s", want, c.pkg, c.name, cause)
		}
	}
	return ""
}
