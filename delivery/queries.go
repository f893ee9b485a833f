package delivery

import (
	"fmt"
	"strings"

	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/schema"
)

// In every statement %[1]s is the framework's schema. Due times, leases and
// ages are by the database clock: clock_timestamp() where a value is written,
// now() where a row is sought, since only a stable function can use an index.

// limitsSQL has the server end the transaction of a process that is paused, cut
// off, or reads no more. $1 milliseconds, $2 name.
//
// A reader that stopped with rows open is ended by the TCP user timeout alone. On
// a unix socket, and on a server whose system does not know it, that timeout
// stays 0: there the application name tells maintenance when the backend is
// overdue. Elsewhere the name is spared: the server reports it to the client when
// it changes and when it changes back, which is a tenth of what PostgreSQL does for
// a job (measured with pgbench; the time-outs do not show).
const limitsSQL = `set_config('statement_timeout', $1::text, true) || set_config('idle_in_transaction_session_timeout', $1::text, true)
	|| CASE set_config('tcp_user_timeout', $1::text, true) WHEN '0' THEN set_config('application_name', $2::text, true) ELSE '' END`

// claimSQL takes the oldest ready jobs of each listener, up to its limit.
// $1 and $2 as in limitsSQL, which is run where a job was taken, once, and saves a
// claim that round trip; $3 token, $4 node, $5 listeners, $6 limits, $7 leases in
// microseconds, $8 creation times to begin at.
//
// It begins where the last claim ended: from the oldest job on, it would first pass
// by what was claimed since the last vacuum, each a dead entry of the index (after
// 60 s and 650,000 jobs 4 ms more; after 240,000 under an old snapshot, which has it
// look at the dead rows too, 20 ms).
//
// Candidates are locked FOR NO KEY UPDATE (FOR UPDATE would also skip rows that
// an uncommitted foreign key refers to) in an ARRAY sub-select, which keeps the
// primary-key plan of the UPDATE: UPDATE … FROM (SELECT … LIMIT $n) can fall to
// a generic plan with a sequential scan. Measured flat at 1.6 ms per 100 from
// ten thousand to ten million rows. A node whose registration is not fresh
// claims nothing: fresh at this moment, since now() is when the transaction began,
// and the process may have been paused in between.
const claimSQL = `UPDATE %[1]s.delivery AS d
SET state = 'CLAIMED', claim_token = $3::uuid, claimed_by = $4::uuid, attempts = attempts + 1, started_at = NULL,
	first_attempt_at = coalesce(first_attempt_at, clock_timestamp()), last_attempt_at = clock_timestamp(),
	lease_expires_at = clock_timestamp() + ($7::bigint[])[array_position($5::integer[], listener_id)] * interval '1 microsecond'
WHERE id = ANY (ARRAY(
	SELECT job.id
	FROM unnest($5::integer[], $6::bigint[], $8::timestamptz[]) AS want(listener_id, n, since)
	CROSS JOIN LATERAL (
		SELECT c.id FROM %[1]s.delivery c
		WHERE c.state = 'READY' AND NOT c.suspect AND c.listener_id = want.listener_id AND c.created_at >= want.since
		ORDER BY c.created_at, c.id
		LIMIT want.n
		FOR NO KEY UPDATE SKIP LOCKED
	) job
	WHERE EXISTS (SELECT FROM %[1]s.node WHERE node.id = $4::uuid AND node.expires_at > clock_timestamp())
))
RETURNING id, event_id, listener_id, replay, run, attempts, suspect, created_at, extract(epoch FROM clock_timestamp() - due_at)::float8,
	(SELECT ` + limitsSQL + `)`

// claimSuspectSQL takes one suspect alone. $1 and $2 as in limitsSQL, $3 token,
// $4 node, $5 listeners, $6 leases in microseconds.
const claimSuspectSQL = `UPDATE %[1]s.delivery AS d
SET state = 'CLAIMED', claim_token = $3::uuid, claimed_by = $4::uuid, attempts = attempts + 1, started_at = NULL,
	first_attempt_at = coalesce(first_attempt_at, clock_timestamp()), last_attempt_at = clock_timestamp(),
	lease_expires_at = clock_timestamp() + ($6::bigint[])[array_position($5::integer[], listener_id)] * interval '1 microsecond'
WHERE id = ANY (ARRAY(
	SELECT c.id FROM %[1]s.delivery c
	WHERE c.state = 'READY' AND c.suspect AND c.listener_id = ANY ($5::integer[])
		AND EXISTS (SELECT FROM %[1]s.node WHERE node.id = $4::uuid AND node.expires_at > clock_timestamp())
	ORDER BY c.created_at, c.id
	LIMIT 1
	FOR NO KEY UPDATE SKIP LOCKED
))
RETURNING id, event_id, listener_id, replay, run, attempts, suspect, created_at, extract(epoch FROM clock_timestamp() - due_at)::float8,
	(SELECT ` + limitsSQL + `)`

// suspectsSQL says whether a claim of a suspect could find one. $1 listeners.
const suspectsSQL = `SELECT EXISTS (
	SELECT FROM %[1]s.delivery WHERE state = 'READY' AND suspect AND listener_id = ANY ($1::integer[]))`

// acknowledgeSQL is the first statement of a processing transaction: the fence,
// the lock on the row, and the limits of the transaction, in one round trip.
// $1 and $2 as in limitsSQL, $3 job, $4 token.
//
// It has no condition on the state: beside id it drags the planner to the index
// of claimed jobs (20 s instead of 0.6 s for 20,000, measured), and every exit
// from CLAIMED clears the token.
const acknowledgeSQL = `UPDATE %[1]s.delivery
SET state = 'COMPLETED', claim_token = NULL, lease_expires_at = NULL, completed_at = clock_timestamp()
WHERE id = $3 AND claim_token = $4::uuid
RETURNING ` + limitsSQL

// acknowledgeGroupSQL acknowledges those of several jobs of one listener that are
// still this node's; it locks them in the order of their ids, without waiting.
// $1 and $2 as in limitsSQL, $3 jobs, $4 their tokens.
const acknowledgeGroupSQL = `UPDATE %[1]s.delivery
SET state = 'COMPLETED', claim_token = NULL, lease_expires_at = NULL, completed_at = clock_timestamp()
WHERE id = ANY (ARRAY(
	SELECT d.id FROM unnest($3::bigint[], $4::uuid[]) AS mine(id, token)
	JOIN %[1]s.delivery d ON d.id = mine.id AND d.claim_token = mine.token
	ORDER BY d.id
	FOR NO KEY UPDATE OF d SKIP LOCKED
))
RETURNING (SELECT ` + limitsSQL + `)`

// refreshGroupSQL is refreshSQL for a group. $1 jobs.
const refreshGroupSQL = `UPDATE %[1]s.delivery SET completed_at = clock_timestamp() WHERE id = ANY ($1::bigint[])`

// refreshSQL puts the completion time of a long listener right. $1 job.
const refreshSQL = `UPDATE %[1]s.delivery SET completed_at = clock_timestamp() WHERE id = $1`

// markSQL says that a suspect is about to start: from here on a lost lease
// spends its attempt. $1 job, $2 token.
const markSQL = `UPDATE %[1]s.delivery SET started_at = clock_timestamp(), lease_losses = 0
WHERE id = $1 AND claim_token = $2::uuid`

// failSQL records a failed attempt. The history is written in any case; where
// the token was lost the row is marked late and the job keeps its state. Sent
// again because the outcome of its commit is unknown, it adds nothing to what
// that commit wrote.
// $1 job, $2 token, $3 final, $4 wait in microseconds, $5 kind of failure,
// $6 error, $7 run, $8 attempt, $9 node, $10 attempts to give back, $11 again.
const failSQL = `WITH job AS (
	UPDATE %[1]s.delivery
	SET state = CASE WHEN $3::boolean THEN 'FAILED' ELSE 'WAITING' END,
		claim_token = NULL, lease_expires_at = NULL, started_at = NULL, lease_losses = 0,
		attempts = attempts - $10::integer,
		due_at = CASE WHEN $3::boolean THEN due_at ELSE clock_timestamp() + $4::bigint * interval '1 microsecond' END,
		failed_at = CASE WHEN $3::boolean THEN clock_timestamp() END,
		failure = $5, last_error = $6
	WHERE id = $1 AND claim_token = $2::uuid
	RETURNING id
), noted AS (
	SELECT late FROM %[1]s.delivery_history
	WHERE $11::boolean AND delivery_id = $1 AND kind = 'FAILURE' AND run = $7::integer AND attempt = $8::integer AND node_id = $9::uuid
	ORDER BY id DESC LIMIT 1
), written AS (
	INSERT INTO %[1]s.delivery_history (delivery_id, kind, run, attempt, late, node_id, failure, error)
	SELECT $1, 'FAILURE', $7::integer, $8::integer, NOT EXISTS (SELECT FROM job), $9::uuid, $5, $6
	WHERE EXISTS (SELECT FROM job) OR NOT EXISTS (SELECT FROM noted)
	RETURNING late
)
SELECT late FROM written UNION ALL SELECT late FROM noted WHERE NOT EXISTS (SELECT FROM written)`

// handBackSQL gives claimed jobs back unspent: $1 jobs, $2 their tokens,
// $3 wait in microseconds. The rows are locked in one order and without waiting,
// so that a running listener neither delays nor deadlocks it.
const handBackSQL = `UPDATE %[1]s.delivery
SET state = CASE WHEN $3::bigint > 0 THEN 'WAITING' ELSE 'READY' END,
	due_at = CASE WHEN $3::bigint > 0 THEN clock_timestamp() + $3::bigint * interval '1 microsecond' ELSE due_at END,
	claim_token = NULL, lease_expires_at = NULL, started_at = NULL, attempts = attempts - 1
WHERE id = ANY (ARRAY(
	SELECT d.id FROM unnest($1::bigint[], $2::uuid[]) AS mine(id, token)
	JOIN %[1]s.delivery d ON d.id = mine.id AND d.claim_token = mine.token
	ORDER BY d.id
	FOR NO KEY UPDATE OF d SKIP LOCKED
))`

// handBackTokenSQL gives back what a claim of unknown outcome may have taken.
// $1 token.
const handBackTokenSQL = `UPDATE %[1]s.delivery
SET state = 'READY', claim_token = NULL, lease_expires_at = NULL, started_at = NULL, attempts = attempts - 1
WHERE id = ANY (ARRAY(
	SELECT id FROM %[1]s.delivery WHERE state = 'CLAIMED' AND claim_token = $1::uuid
	ORDER BY id
	FOR NO KEY UPDATE SKIP LOCKED
))`

// handBackStartedSQL gives one started job back at a stop, as long as it was not
// handed back too often. $1 job, $2 token, $3 bound, $4 node, $5 error.
const handBackStartedSQL = `WITH job AS (
	UPDATE %[1]s.delivery
	SET state = 'READY', claim_token = NULL, lease_expires_at = NULL, started_at = NULL,
		attempts = attempts - 1, hand_backs = hand_backs + 1
	WHERE id = $1 AND claim_token = $2::uuid AND hand_backs < $3
	RETURNING id, run, attempts
)
INSERT INTO %[1]s.delivery_history (delivery_id, kind, run, attempt, node_id, error)
SELECT id, 'HAND_BACK', run, attempts + 1, $4::uuid, $5 FROM job
RETURNING id`

// renewSQL renews the leases of claimed, unstarted jobs: $1 jobs, $2 their
// tokens, $3 their leases in microseconds. Locked rows belong to running
// listeners or to someone else by now; it waits for neither.
const renewSQL = `UPDATE %[1]s.delivery
SET lease_expires_at = clock_timestamp() + ($3::bigint[])[array_position($1::bigint[], id)] * interval '1 microsecond'
WHERE id = ANY (ARRAY(
	SELECT d.id FROM unnest($1::bigint[], $2::uuid[]) AS mine(id, token)
	JOIN %[1]s.delivery d ON d.id = mine.id AND d.claim_token = mine.token
	ORDER BY d.id
	FOR NO KEY UPDATE OF d SKIP LOCKED
))`

// guardSQL is the first statement of the kernel's own short transactions, which
// may hold the rows of jobs that others could run. Its parameters are those of
// limitsSQL.
const guardSQL = `SELECT ` + limitsSQL

// registerSQL registers the node or renews its registration: $1 node, $2 name,
// $3 listeners, $4 how long it holds in microseconds, $5 model.
const registerSQL = `INSERT INTO %[1]s.node AS n (id, name, expires_at, listeners, model)
VALUES ($1::uuid, $2, clock_timestamp() + $4::bigint * interval '1 microsecond', $3::integer[], $5)
ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), listeners = excluded.listeners,
	expires_at = clock_timestamp() + $4::bigint * interval '1 microsecond'`

const deregisterSQL = `DELETE FROM %[1]s.node WHERE id = $1::uuid`

// settingsSQL is limitsSQL for a whole session.
var settingsSQL = strings.ReplaceAll(guardSQL, ", true)", ", false)")

// differSQL says whether a live node with another model has one of the
// listeners. $1 model, $2 listeners.
const differSQL = `SELECT EXISTS (
	SELECT FROM %[1]s.node WHERE expires_at > now() AND model <> $1 AND listeners && $2::integer[])`

// queries are the statements of one framework schema.
type queries struct {
	claim, claimSuspect, suspects, acknowledge, refresh, mark, fail, acknowledgeGroup, refreshGroup *persistence.Statement
	handBack, handBackToken, handBackStarted, renew                                                 *persistence.Statement
	recover, expired, promote, due, terminate, lock, forgetNodes                                    *persistence.Statement
	register, deregister, differ, guard, settings                                                   *persistence.Statement
}

func newQueries(db *persistence.Database, framework string) queries {
	s := func(text string) *persistence.Statement {
		return db.Statement(fmt.Sprintf(text, schema.Quote(framework)))
	}
	return queries{
		claim: s(claimSQL), claimSuspect: s(claimSuspectSQL), suspects: s(suspectsSQL),
		acknowledge: s(acknowledgeSQL), refresh: s(refreshSQL),
		acknowledgeGroup: s(acknowledgeGroupSQL), refreshGroup: s(refreshGroupSQL), mark: s(markSQL), fail: s(failSQL),
		handBack: s(handBackSQL), handBackToken: s(handBackTokenSQL), handBackStarted: s(handBackStartedSQL),
		renew: s(renewSQL), recover: s(recoverSQL), expired: s(expiredSQL), promote: s(promoteSQL), due: s(dueSQL),
		terminate: db.Statement(terminateSQL), lock: db.Statement(lockSQL), forgetNodes: s(forgetNodesSQL),
		register: s(registerSQL), deregister: s(deregisterSQL), differ: s(differSQL),
		guard: db.Statement(guardSQL), settings: db.Statement(settingsSQL),
	}
}

// hot are the statements worth preparing.
func (q queries) hot() []*persistence.Statement {
	return []*persistence.Statement{
		q.claim, q.claimSuspect, q.suspects, q.acknowledge, q.acknowledgeGroup, q.refresh, q.mark, q.fail, q.handBack, q.renew,
		q.recover, q.promote, q.terminate, q.lock, q.register, q.guard,
	}
}
