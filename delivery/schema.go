package delivery

import (
	"fmt"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/persistence/schema"
)

const (
	timestamptz = "timestamp with time zone"
	now         = "clock_timestamp()"
)

// FrameworkModel returns the framework's own tables and views in the schema
// framework.
func FrameworkModel(framework string) schema.Model {
	return schema.Model{
		Schemas: []string{framework},
		Tables: append(events.FrameworkTables(framework),
			historyTable(framework), nodeTable(framework), operationTable(framework)),
		Views: []schema.View{jobsView(framework), historyView(framework)},
	}
}

// Kinds of history rows.
const (
	HistoryFailure   = "FAILURE"    // an attempt failed
	HistoryLeaseLost = "LEASE_LOST" // the node died or was paused
	HistoryHandBack  = "HAND_BACK"  // a started job was handed back at a stop
)

func historyTable(framework string) schema.Table {
	return schema.Table{
		Schema: framework, Name: "delivery_history", PrimaryKey: []string{"id"},
		Columns: []schema.Column{
			{Name: "id", Type: "bigint", Identity: true},
			{Name: "delivery_id", Type: "bigint", NotNull: true},
			{Name: "kind", Type: "text", NotNull: true},
			{Name: "run", Type: "integer", NotNull: true},
			{Name: "attempt", Type: "integer", NotNull: true},
			{Name: "late", Type: "boolean", NotNull: true, Default: "false"},
			{Name: "node_id", Type: "uuid"},
			{Name: "recorded_at", Type: timestamptz, NotNull: true, Default: now},
			{Name: "failure", Type: "text"},
			{Name: "error", Type: "text"},
		},
		Indexes: []schema.Index{{Name: "delivery_history_job", Columns: schema.On("delivery_id", "id")}},
		Comment: "What happened to jobs: failed attempts (late: the job had been lost by then), lost leases, hand-backs.",
	}
}

func nodeTable(framework string) schema.Table {
	return schema.Table{
		Schema: framework, Name: "node", PrimaryKey: []string{"id"},
		Columns: []schema.Column{
			{Name: "id", Type: "uuid", NotNull: true},
			{Name: "name", Type: "text", NotNull: true},
			{Name: "started_at", Type: timestamptz, NotNull: true, Default: now},
			{Name: "seen_at", Type: timestamptz, NotNull: true, Default: now},
			{Name: "expires_at", Type: timestamptz, NotNull: true},
			{Name: "listeners", Type: "integer[]", NotNull: true},
			{Name: "model", Type: "text", NotNull: true},
		},
		Comment: "Nodes that deliver, and the listeners they have. A node is live until expires_at.",
	}
}

func operationTable(framework string) schema.Table {
	return schema.Table{
		Schema: framework, Name: "operation", PrimaryKey: []string{"id"},
		Columns: []schema.Column{
			{Name: "id", Type: "bigint", Identity: true},
			{Name: "recorded_at", Type: timestamptz, NotNull: true, Default: now},
			{Name: "operator", Type: "text", NotNull: true},
			{Name: "action", Type: "text", NotNull: true},
			{Name: "subject", Type: "text", NotNull: true},
			{Name: "jobs", Type: "bigint", NotNull: true, Default: "0"},
			{Name: "reason", Type: "text"},
		},
		Comment: "What operators did to jobs.",
	}
}

// jobsView shows jobs with their names. BLOCKED is derived from the live nodes,
// not stored, so a job resumes by itself when a node with its listener runs.
func jobsView(framework string) schema.View {
	f := schema.Quote(framework)
	return schema.View{
		Schema: framework, Name: "jobs",
		Query: fmt.Sprintf(`SELECT d.id, t.name AS event, d.event_id, l.name AS listener, d.replay,
	CASE WHEN d.state IN ('READY', 'WAITING') AND NOT live.found THEN 'BLOCKED' ELSE d.state END AS state,
	d.state AS stored_state,
	CASE WHEN d.state IN ('READY', 'WAITING') AND NOT live.found THEN 'no live node has the listener' ELSE d.failure END AS reason,
	d.created_at, d.due_at, d.run, d.attempts, d.suspect, d.lease_losses, d.hand_backs,
	d.claimed_by, d.lease_expires_at, d.started_at, d.first_attempt_at, d.last_attempt_at,
	d.completed_at, d.failed_at, d.last_error, d.ordering_key
FROM %[1]s.delivery d
JOIN %[1]s.listener l ON l.id = d.listener_id
JOIN %[1]s.event_type t ON t.id = d.event_type_id
CROSS JOIN LATERAL (SELECT EXISTS (
	SELECT FROM %[1]s.node n WHERE n.expires_at > clock_timestamp() AND d.listener_id = ANY (n.listeners)) AS found) live`, f),
		Comment: "Jobs with the names of their event and listener; state BLOCKED where no live node has the listener.",
	}
}

// historyView shows the history with its names.
func historyView(framework string) schema.View {
	f := schema.Quote(framework)
	return schema.View{
		Schema: framework, Name: "history",
		Query: fmt.Sprintf(`SELECT h.id, h.recorded_at, h.delivery_id AS job, l.name AS listener, d.event_id, h.kind, h.run, h.attempt, h.late,
	h.failure, h.error, h.node_id
FROM %[1]s.delivery_history h
LEFT JOIN %[1]s.delivery d ON d.id = h.delivery_id
LEFT JOIN %[1]s.listener l ON l.id = d.listener_id`, f),
		Comment: "What happened to jobs, with the names of their listeners.",
	}
}
