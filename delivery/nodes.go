package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/tidings-go/tidings/persistence/schema"
)

// Node is a registered node. A dead one is listed for a day, to help understand
// what happened.
type Node struct {
	ID      uuid.UUID `json:"id" db:"id"`
	Name    string    `json:"name" db:"name"`
	Live    bool      `json:"live" db:"live"`
	Started time.Time `json:"started_at" db:"started_at"`
	Seen    time.Time `json:"seen_at" db:"seen_at"`
	// SeenSeconds is how long ago that is, by the database clock.
	SeenSeconds float64 `json:"seen_seconds_ago" db:"seen_ago"`
	// Listeners are the identities of those that it delivers to.
	Listeners pq.StringArray `json:"listeners" db:"listeners"`
	// Model names the rules by which it rebuilds events; nodes of one program
	// have the same.
	Model string `json:"model" db:"model"`
}

// nodesSQL lists the registered nodes, the live ones first.
const nodesSQL = `SELECT n.id, n.name, n.expires_at > clock_timestamp() AS live, n.started_at, n.seen_at,
	greatest(0, extract(epoch FROM clock_timestamp() - n.seen_at))::float8 AS seen_ago, n.model,
	coalesce((SELECT array_agg(l.name ORDER BY l.name) FROM %[1]s.listener l WHERE l.id = ANY (n.listeners)), '{}') AS listeners
FROM %[1]s.node n
ORDER BY live DESC, n.name, n.id`

// Nodes lists the nodes that are registered in the schema framework.
func Nodes(ctx context.Context, db *sqlx.DB, framework string) ([]Node, error) {
	nodes := []Node{}
	if err := db.SelectContext(ctx, &nodes, fmt.Sprintf(nodesSQL, schema.Quote(framework))); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return nodes, nil
}
