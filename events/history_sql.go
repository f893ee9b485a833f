package events

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/persistence"
)

// ownHistory is a transaction for reading alone: an event and its lists are read
// by several statements.
var ownHistory = persistence.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}

// pick reads the events of a query, and one more than its limit. The statement
// names what the query bounds and nothing else, so that an index can serve it;
// rows are compared as a whole, as PostgreSQL does for keyset pagination.
func (s *store) pick(ctx context.Context, t *persistence.Transaction, q *historyQuery, after *place) ([]Stored, error) {
	if q.one {
		return s.query(ctx, t, s.load, uuidArray([]uuid.UUID{q.id}))
	}
	key := q.By.columns()
	times := key[:len(key)-1]
	var conditions []string
	var args []any
	add := func(columns []string, operator string, values []any) {
		marks := make([]string, len(values))
		for i := range values {
			marks[i] = fmt.Sprintf("$%d", len(args)+i+1)
		}
		args = append(args, values...)
		conditions = append(conditions, fmt.Sprintf("(%s) %s (%s)", quoted(columns), operator, strings.Join(marks, ", ")))
	}
	if !q.From.IsZero() {
		add(times, ">=", q.By.values(q.From))
	}
	if !q.To.IsZero() {
		add(times, "<", q.By.values(q.To))
	}
	if after != nil {
		add(key, ">", append(q.By.values(after.at), after.id.String()))
	}
	text := loadSQL(s.tables[0], s.plan.Tables()[0].Columns)
	if len(conditions) > 0 {
		text += " WHERE " + strings.Join(conditions, " AND ")
	}
	text += fmt.Sprintf(" ORDER BY %s LIMIT $%d", quoted(key), len(args)+1)
	return s.query(ctx, t, s.db.Statement(text), append(args, q.limit()+1)...)
}
