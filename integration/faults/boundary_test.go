//go:build unix

package faults_test

import (
	"strings"

	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
)

// statements names every statement that the scenario sends, by texts that only
// it contains. The first that fits is it.
var statements = []struct {
	name  string
	texts []string
}{
	{"BEGIN", []string{"BEGIN"}},
	{"COMMIT", []string{"COMMIT"}},
	{"ROLLBACK", []string{"ROLLBACK"}},
	{"publication", []string{"INSERT INTO publication"}},
	{"effect", []string{"INSERT INTO effect"}},
	{"emit", []string{"WITH event AS (", "INSERT INTO"}},
	{"load", []string{"@event:", "ANY ($1::uuid[])"}},
	{"claim", []string{"SET state = 'CLAIMED'", "NOT c.suspect"}},
	{"claim suspect", []string{"SET state = 'CLAIMED'", "AND c.suspect"}},
	{"look for suspects", []string{"SELECT EXISTS", "AND suspect AND"}},
	{"acknowledge", []string{"SET state = 'COMPLETED', claim_token = NULL"}},
	{"refresh", []string{"SET completed_at = clock_timestamp() WHERE id = $1"}},
	{"mark", []string{"SET started_at = clock_timestamp()"}},
	{"fail", []string{"'FAILURE'", "INSERT INTO"}},
	{"recover", []string{"'LEASE_LOST'", "INSERT INTO"}},
	{"promote", []string{"SET state = 'READY'", "state = 'WAITING' AND due_at <= now()"}},
	{"hand back started", []string{"'HAND_BACK'"}},
	{"hand back unknown claim", []string{"state = 'CLAIMED' AND claim_token = $1::uuid", "attempts - 1"}},
	{"hand back", []string{"unnest($1::bigint[], $2::uuid[])", "attempts - 1"}},
	{"renew", []string{"unnest($1::bigint[], $2::uuid[])", "SET lease_expires_at"}},
	{"lock", []string{"pg_try_advisory_xact_lock"}},
	{"terminate", []string{"pg_terminate_backend"}},
	{"forget nodes", []string{"DELETE FROM", "interval '1 day'"}},
	{"register", []string{"INSERT INTO", "ON CONFLICT (id) DO UPDATE SET seen_at"}},
	{"deregister", []string{"DELETE FROM", "WHERE id = $1::uuid"}},
	{"notify", []string{"pg_notify"}},
	{"settings", []string{"SELECT set_config('statement_timeout'", "application_name", ", false)"}},
	{"guard", []string{"SELECT set_config('statement_timeout'", "application_name"}},
}

// name names a statement; "" if it is not known.
func name(text string) string {
	for _, s := range statements {
		if pgproxy.Containing(s.texts...)(pgproxy.Statement{Text: text}) {
			return s.name
		}
	}
	return ""
}

// path is the place of a statement in its transaction: the names of the
// statements up to it.
func path(s pgproxy.Statement) string {
	var b strings.Builder
	for _, before := range s.Before {
		b.WriteString(name(before) + " > ")
	}
	return b.String() + name(s.Text)
}

// kinds are the kinds of transaction that the sweep must visit, and the
// statement that makes one.
var kinds = map[string]string{
	"claim": "claim", "load events": "load", "process": "acknowledge", "fail": "fail", "recover": "recover",
	"promote": "promote", "hand back": "hand back", unknownClaim: "hand back unknown claim",
	"hand back at a stop": "hand back started", "renew": "renew", "register": "register", "deregister": "deregister",
	"look for suspects": "look for suspects", "claim a suspect": "claim suspect", "mark a start": "mark",
	"terminate backends": "terminate", "forget nodes": "forget nodes", "begin a session": "settings",
}

const unknownClaim = "hand back an unknown claim"

// kind is what the transaction of a path does.
func kind(path string) string {
	steps := strings.Split(path, " > ")
	for k, made := range kinds {
		for _, s := range steps {
			if s == made {
				return k
			}
		}
	}
	switch {
	case strings.Contains(path, "publication"):
		return "emit"
	case strings.Contains(path, "lock"):
		return "any maintenance"
	case path == "notify":
		return "notify"
	}
	return "any transaction"
}

// chancy are paths that come or not, as it happens: a sweep cannot wait for them.
func chancy(path string) bool {
	return strings.Contains(path, "refresh") || strings.Contains(path, "ROLLBACK") && !strings.Contains(path, "acknowledge > effect > ROLLBACK")
}
