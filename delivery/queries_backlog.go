package delivery

// backlogSettingsSQL begins a read of the backlog: a time-out ($1 milliseconds),
// and plans that do not depend on fresh statistics. Everything it reads of the
// jobs has an index over unfinished ones alone, and a scan of the table is never
// better. The costs that this pretends would have PostgreSQL compile the plan,
// which takes a second and a half (measured).
const backlogSettingsSQL = `SELECT set_config('statement_timeout', $1::text, true) || set_config('enable_seqscan', 'off', true)
	|| set_config('enable_bitmapscan', 'off', true) || set_config('jit', 'off', true)`

// backlogSQL answers with the backlog of every listener. $1 how many ready jobs
// are looked at for their due times, $2 up to how many are counted.
//
// The oldest job of a state is the first of its index. Due times have no index
// of their own (it would cost every job): a ready job is nearly always due since
// its creation, a retried one since its retry, so the front of the queue tells;
// waiting jobs that are due and that nobody promoted are read by theirs, of which
// the first thousand tell enough. Counts are bounded: an index of a million
// entries takes a tenth of a second to count.
const backlogSQL = `SELECT l.name, live.nodes,
	greatest(0, coalesce(extract(epoch FROM clock_timestamp() - least(front.due_at, late.due_at)), 0))::double precision,
	greatest(0, coalesce(extract(epoch FROM clock_timestamp() - least(front.created_at, waiting.created_at, claimed.created_at)), 0))::double precision,
	ready.n, waiting.n, coalesce(claimed.n, 0), failed.n
FROM %[1]s.listener l
CROSS JOIN LATERAL (
	SELECT count(*) AS nodes FROM %[1]s.node WHERE node.expires_at > now() AND l.id = ANY (node.listeners)
) live
CROSS JOIN LATERAL (
	SELECT min(f.due_at) AS due_at, min(f.created_at) AS created_at FROM (
		(SELECT d.due_at, d.created_at FROM %[1]s.delivery d WHERE d.state = 'READY' AND NOT d.suspect AND d.listener_id = l.id
			ORDER BY d.created_at, d.id LIMIT $1)
		UNION ALL
		(SELECT d.due_at, d.created_at FROM %[1]s.delivery d WHERE d.state = 'READY' AND d.suspect AND d.listener_id = l.id
			ORDER BY d.created_at, d.id LIMIT $1)) f
) front
CROSS JOIN LATERAL (
	SELECT count(*) AS n FROM (
		(SELECT FROM %[1]s.delivery d WHERE d.state = 'READY' AND NOT d.suspect AND d.listener_id = l.id
			ORDER BY d.created_at, d.id LIMIT $2)
		UNION ALL
		(SELECT FROM %[1]s.delivery d WHERE d.state = 'READY' AND d.suspect AND d.listener_id = l.id
			ORDER BY d.created_at, d.id LIMIT $2)) c
) ready
CROSS JOIN LATERAL (
	SELECT count(*) AS n, min(c.created_at) AS created_at FROM (
		SELECT d.created_at FROM %[1]s.delivery d WHERE d.state = 'WAITING' AND d.listener_id = l.id
			ORDER BY d.created_at LIMIT $2) c
) waiting
CROSS JOIN LATERAL (
	SELECT count(*) AS n FROM (
		SELECT FROM %[1]s.delivery d WHERE d.state = 'FAILED' AND d.listener_id = l.id ORDER BY d.id LIMIT $2) c
) failed
LEFT JOIN (
	SELECT listener_id, count(*) AS n, min(created_at) AS created_at FROM (
		SELECT listener_id, created_at FROM %[1]s.delivery WHERE state = 'CLAIMED' ORDER BY lease_expires_at LIMIT 100000) c
	GROUP BY listener_id
) claimed ON claimed.listener_id = l.id
LEFT JOIN (
	SELECT listener_id, min(due_at) AS due_at FROM (
		SELECT listener_id, due_at FROM %[1]s.delivery WHERE state = 'WAITING' AND due_at <= now() ORDER BY due_at LIMIT 1000) w
	GROUP BY listener_id
) late ON late.listener_id = l.id`

// The counts of one state of a listener, by its index alone. $1 listener.
const (
	countReadySQL = `SELECT (SELECT count(*) FROM %[1]s.delivery d WHERE d.state = 'READY' AND NOT d.suspect AND d.listener_id = l.id)
	+ (SELECT count(*) FROM %[1]s.delivery d WHERE d.state = 'READY' AND d.suspect AND d.listener_id = l.id)
FROM %[1]s.listener l WHERE l.name = $1`
	countWaitingSQL = `SELECT (SELECT count(*) FROM %[1]s.delivery d WHERE d.state = 'WAITING' AND d.listener_id = l.id)
FROM %[1]s.listener l WHERE l.name = $1`
	countFailedSQL = `SELECT (SELECT count(*) FROM %[1]s.delivery d WHERE d.state = 'FAILED' AND d.listener_id = l.id)
FROM %[1]s.listener l WHERE l.name = $1`
)

// snapshotSQL answers with the age in seconds of the oldest transaction of this
// database that holds back vacuum, prepared ones included.
const snapshotSQL = `SELECT greatest(0, coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0))::double precision
FROM (
	SELECT xact_start AS since FROM pg_stat_activity
	WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
		AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
	UNION ALL
	SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()
) holders`
