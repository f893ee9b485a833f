package catalogue

import (
	"fmt"
	"io"
	"strings"

	"github.com/tidings-go/tidings/access"
)

// edge is one arrow of the drawing, between entries by their place.
type edge struct {
	from, to int
	label    string
	later    bool // after the commit, in a transaction of its own
}

// edges returns who calls, emits and hands to whom.
func (c Catalogue) edges() []edge {
	place := map[string]int{}
	for i, e := range c.Entries {
		place[e.Identity] = i
	}
	var all []edge
	for i, e := range c.Entries {
		for _, to := range e.Calls {
			all = append(all, edge{from: i, to: place[to], label: "calls"})
		}
		for _, to := range e.Emits {
			all = append(all, edge{from: i, to: place[to], label: "emits"})
		}
		for _, to := range e.Listeners {
			later := c.Entries[place[to]].Kind == access.KindDeferredListener.String()
			label := "at once"
			if later {
				label = "later"
			}
			all = append(all, edge{from: i, to: place[to], label: label, later: later})
		}
	}
	return all
}

// class is the word for an entry's looks.
func (e Entry) class() string {
	switch e.Kind {
	case access.KindSyncListener.String():
		return "sync"
	case access.KindDeferredListener.String():
		return "deferred"
	case access.KindAction.String():
		return "usecase"
	}
	return e.Kind
}

var mermaidShapes = map[string][2]string{
	"usecase": {"[", "]"}, "service": {"[[", "]]"}, "event": {"([", "])"}, "sync": {"[/", "/]"}, "deferred": {"[/", "/]"},
}

// Mermaid draws the flow as a Mermaid flowchart: solid arrows run in the
// publisher's transaction, dotted ones after its commit.
func (c Catalogue) Mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	text := strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;")
	for i, e := range c.Entries {
		shape := mermaidShapes[e.class()]
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s:::%s\n", i, shape[0], text.Replace(e.Identity), shape[1], e.class())
	}
	for _, e := range c.edges() {
		arrow := "-->"
		if e.later {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  n%d %s|%s| n%d\n", e.from, arrow, e.label, e.to)
	}
	b.WriteString("  classDef usecase fill:#dbeafe,stroke:#1d4ed8,color:#111\n")
	b.WriteString("  classDef service fill:#e0e7ff,stroke:#4338ca,color:#111\n")
	b.WriteString("  classDef event fill:#fef3c7,stroke:#b45309,color:#111\n")
	b.WriteString("  classDef sync fill:#dcfce7,stroke:#15803d,color:#111\n")
	b.WriteString("  classDef deferred fill:#f1f5f9,stroke:#475569,color:#111,stroke-dasharray:4 2\n")
	_, err := io.WriteString(w, b.String())
	return err
}

var dotShapes = map[string]string{
	"usecase": "box", "service": "component", "event": "ellipse", "sync": "parallelogram", "deferred": "parallelogram",
}

// DOT draws the flow for Graphviz: dashed arrows run after the publisher's
// commit.
func (c Catalogue) DOT(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph flow {\n  rankdir=LR;\n")
	text := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, e := range c.Entries {
		style := ""
		if e.class() == "deferred" {
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  n%d [label=\"%s\", shape=%s%s, tooltip=\"%s\"];\n",
			i, text.Replace(e.Identity), dotShapes[e.class()], style, text.Replace(e.Declared))
	}
	for _, e := range c.edges() {
		style := ""
		if e.later {
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  n%d -> n%d [label=\"%s\"%s];\n", e.from, e.to, e.label, style)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
