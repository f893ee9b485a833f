package delivery

// Statements of maintenance, which any node runs; queries.go says what holds for
// all statements.

// recoverSQL takes back expired claims whose rows no running transaction locks.
// $1 how many, $2 only behind this id, $3 only this id or NULL, $4 bound of lost
// leases.
//
// A node claims up to a batch and may die by one job of it: counting all as
// attempts would fail neighbours that never ran (simulated: 92 of 100). So an
// unstarted claim gives its attempt back, counts as a lost lease and makes the
// job suspect; only a suspect that had marked its start spends the attempt. Who
// recovers may not have the listener, so the cap of attempts is left to who
// claims the job next.
const recoverSQL = `WITH job AS (
	UPDATE %[1]s.delivery d
	SET state = CASE WHEN d.started_at IS NULL AND d.lease_losses + 1 >= $4::integer THEN 'FAILED' ELSE 'WAITING' END,
		failed_at = CASE WHEN d.started_at IS NULL AND d.lease_losses + 1 >= $4::integer THEN clock_timestamp() END,
		failure = 'LEASE',
		last_error = CASE WHEN d.started_at IS NULL THEN 'lease lost: the node died or was paused with the job, before or after its listener started'
			ELSE 'lease lost: the node died or was paused after the listener started' END,
		attempts = CASE WHEN d.started_at IS NULL THEN d.attempts - 1 ELSE d.attempts END,
		lease_losses = CASE WHEN d.started_at IS NULL THEN d.lease_losses + 1 ELSE d.lease_losses END,
		due_at = clock_timestamp() + interval '1 second' * power(2, least(d.lease_losses, 9)),
		suspect = true, claim_token = NULL, lease_expires_at = NULL, started_at = NULL
	WHERE d.id = ANY (ARRAY(
		SELECT id FROM %[1]s.delivery
		WHERE state = 'CLAIMED' AND lease_expires_at < now() AND id > $2 AND ($3::bigint IS NULL OR id = $3::bigint)
		ORDER BY id
		LIMIT $1
		FOR NO KEY UPDATE SKIP LOCKED
	))
	RETURNING d.id, d.run, d.attempts, d.claimed_by, d.last_error
)
INSERT INTO %[1]s.delivery_history (delivery_id, kind, run, attempt, node_id, failure, error)
SELECT id, 'LEASE_LOST', run, attempts, claimed_by, 'LEASE', last_error FROM job
RETURNING delivery_id`

// expiredSQL lists what recoverSQL would take: $1 how many, $2 behind this id.
const expiredSQL = `SELECT id FROM %[1]s.delivery
WHERE state = 'CLAIMED' AND lease_expires_at < now() AND id > $2
ORDER BY id LIMIT $1`

// promoteSQL makes waiting jobs ready that are due. $1 how many, $2 only this id
// or NULL.
const promoteSQL = `UPDATE %[1]s.delivery SET state = 'READY'
WHERE id = ANY (ARRAY(
	SELECT id FROM %[1]s.delivery
	WHERE state = 'WAITING' AND due_at <= now() AND ($2::bigint IS NULL OR id = $2::bigint)
	ORDER BY due_at
	LIMIT $1
	FOR NO KEY UPDATE SKIP LOCKED
))
RETURNING id`

// dueSQL lists what promoteSQL would take: $1 how many, $2 how many to skip.
const dueSQL = `SELECT id FROM %[1]s.delivery
WHERE state = 'WAITING' AND due_at <= now()
ORDER BY due_at LIMIT $1 OFFSET $2`

// terminateSQL ends processing backends that the server should have ended: one
// that waits in a write to a client that stopped reading is ended by nothing
// else on a unix socket. The limit in milliseconds is the end of the name that
// limitsSQL sets there. $1 prefix of the name.
const terminateSQL = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND starts_with(application_name, $1)
	AND substr(application_name, length($1) + 1) ~ '^[0-9]{1,12}$'
	AND xact_start < clock_timestamp() - interval '1 millisecond' * substr(application_name, length($1) + 1)::bigint`

// lockSQL begins a step of maintenance: time-outs, so that a paused maintainer
// freezes nobody, and the step's lock. $1 time-out in milliseconds, $2 and $3
// the lock's key.
const lockSQL = `SELECT set_config('statement_timeout', $1::text, true) || set_config('idle_in_transaction_session_timeout', $1::text, true)
	|| set_config('lock_timeout', $1::text, true), pg_try_advisory_xact_lock($2, $3)`

// forgetNodesSQL removes nodes that have been dead for a day: until then they
// help to understand what happened.
const forgetNodesSQL = `DELETE FROM %[1]s.node WHERE expires_at < now() - interval '1 day'`
