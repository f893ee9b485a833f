package oracle

// general are questions that any run must answer with no row.
var general = []string{
	// A completed job has one effect, any other none. A replay has its own.
	`SELECT format('job %s of %s for event %s is %s and has %s effects', j.id, j.listener, j.event_id, j.states, coalesce(e.n, 0))
FROM (SELECT min(id) AS id, event_id, listener, count(*) FILTER (WHERE stored_state = 'COMPLETED') AS completed,
		string_agg(stored_state, ' and ' ORDER BY id) AS states
	FROM tidings.jobs GROUP BY event_id, listener) j
LEFT JOIN (SELECT event_id, listener, count(*) AS n FROM effect GROUP BY 1, 2) e USING (event_id, listener)
WHERE coalesce(e.n, 0) <> j.completed`,

	`SELECT format('effect of %s for event %s has no job', e.listener, e.event_id)
FROM effect e WHERE NOT EXISTS (SELECT FROM tidings.jobs j WHERE j.event_id = e.event_id AND j.listener = e.listener)`,

	// A failed job says why, when and after how many attempts, and every
	// attempt stands in the history.
	`SELECT format('job %s of %s is FAILED without reason, text or time', id, listener)
FROM tidings.jobs WHERE stored_state = 'FAILED' AND (reason IS NULL OR last_error IS NULL OR failed_at IS NULL)`,

	`SELECT format('job %s of %s is FAILED after %s attempts, of which the history has no attempt %s', j.id, j.listener, j.attempts, n)
FROM tidings.jobs j CROSS JOIN LATERAL generate_series(1, j.attempts) n
WHERE j.stored_state = 'FAILED' AND NOT EXISTS (SELECT FROM tidings.delivery_history h
	WHERE h.delivery_id = j.id AND h.run = j.run AND h.attempt = n AND h.kind IN ('FAILURE', 'LEASE_LOST'))`,

	`SELECT format('job %s of %s is COMPLETED after %s attempts, at %s', id, listener, attempts, completed_at)
FROM tidings.jobs WHERE stored_state = 'COMPLETED' AND (completed_at IS NULL OR attempts < 1)`,

	// The attempt that a job counts is the one that had the effect.
	`SELECT format('job %s of %s counts %s attempts, its effect is of attempt %s', j.id, j.listener, j.attempts, e.attempt)
FROM tidings.jobs j JOIN effect e USING (event_id, listener)
WHERE j.stored_state = 'COMPLETED' AND e.attempt <> j.attempts AND NOT EXISTS (SELECT FROM tidings.jobs r
	WHERE r.event_id = j.event_id AND r.listener = j.listener AND r.id <> j.id)`,

	// An attempt fails once.
	`SELECT format('job %s has %s failures of attempt %s on one node', delivery_id, count(*), attempt)
FROM tidings.delivery_history WHERE kind = 'FAILURE' AND NOT late GROUP BY delivery_id, run, attempt, node_id HAVING count(*) > 1`,
}

// unfinished finds jobs that are neither terminal nor blocked.
const unfinished = `SELECT format('job %s of %s is left %s', id, listener, state)
FROM tidings.jobs WHERE state NOT IN ('COMPLETED', 'FAILED', 'CANCELLED', 'BLOCKED')`
