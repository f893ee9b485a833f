package mapping

import (
	"fmt"

	"github.com/tidings-go/tidings/persistence/schema"
)

// names finds names that PostgreSQL would cut or that two values share.
type names struct {
	*builder
	columns []map[string]string // by table: column name, and the path that has it
	tables  map[string]string   // table name, and the path that has it
}

func newNames(b *builder) *names {
	n := &names{builder: b, columns: make([]map[string]string, len(b.tables)), tables: map[string]string{}}
	for i := range n.columns {
		n.columns[i] = map[string]string{}
	}
	n.columns[0] = b.reserved
	return n
}

// node claims the names of a value's columns in its table.
func (n *names) node(of node, table int) {
	switch of := of.(type) {
	case *structNode:
		for _, f := range of.fields {
			n.node(f.node, table)
		}
	case *optionalNode:
		if of.own {
			n.column(of.all[0].Name, of.path, table)
		}
		n.node(of.inner, table)
	case *codecNode:
		n.node(of.inner, table)
	case *leaf:
		n.column(of.name, of.path, table)
	case *listNode:
		n.collection(of.collection, table)
		n.columns[of.table][positionColumn] = of.path
		n.node(of.element, of.table)
	case *mapNode:
		n.collection(of.collection, table)
		n.node(of.key, of.table)
		n.node(of.element, of.table)
	default: // a value of several columns
		for _, c := range of.columns() {
			n.column(c.Name, pathOf(of), table)
		}
	}
}

func pathOf(n node) string {
	switch n := n.(type) {
	case *timeNode:
		return n.path
	case *decimalNode:
		return n.path
	}
	return ""
}

func (n *names) collection(c collection, table int) {
	n.column(c.counter.Name, c.path, table)
	t := n.builder.tables[c.table]
	if err := schema.CheckName(n.prefix + t.Name); err != nil {
		n.report(c.path, fmt.Errorf("table %w", err), fmt.Sprintf(wayOutTable, c.path))
	}
	if owner, ok := n.tables[t.Name]; ok {
		n.report(c.path, fmt.Errorf("table name %q is taken by %s", t.Name, owner), fmt.Sprintf(wayOutTable, c.path))
	}
	n.tables[t.Name] = c.path
	for _, handed := range n.builder.tables[t.parent].handed {
		n.column(handed.Name, c.path, c.table)
	}
}

func (n *names) column(name, path string, table int) {
	wayOut := fmt.Sprintf(wayOutName, path)
	if err := schema.CheckColumnName(name); err != nil {
		n.report(path, fmt.Errorf("column %w", err), wayOut)
		return
	}
	if owner, ok := n.columns[table][name]; ok {
		n.report(path, fmt.Errorf("column name %q is taken by %s", name, owner), wayOut)
		return
	}
	n.columns[table][name] = path
}
