package doctor

// In every statement %[1]s is the framework's schema, quoted.

const settingsSQL = `SELECT name, setting FROM pg_settings WHERE name IN (
	'server_version', 'server_version_num', 'fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts',
	'default_transaction_read_only', 'max_connections', 'superuser_reserved_connections', 'jit', 'TimeZone')
UNION ALL SELECT 'in_recovery', pg_is_in_recovery()::text`

// privilegesSQL lists what the user may not do. $1 schemas, $2 tables.
const privilegesSQL = `SELECT format('%I.%I', t.s, t.n) AS name, string_agg(p, ', ' ORDER BY p) AS missing
FROM unnest($1::text[], $2::text[]) AS t(s, n)
JOIN pg_class c ON c.relname = t.n
JOIN pg_namespace ns ON ns.oid = c.relnamespace AND ns.nspname = t.s
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p
WHERE c.relkind = 'r' AND NOT (has_schema_privilege(ns.oid, 'USAGE') AND has_table_privilege(c.oid, p))
GROUP BY 1 ORDER BY 1`

const seesOthersSQL = `SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')`

const sessionsSQL = `SELECT count(*) AS used,
	current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most
FROM pg_stat_activity WHERE backend_type = 'client backend'`

// snapshotsSQL lists what holds back vacuum for more than $1 seconds.
const snapshotsSQL = `SELECT what, extract(epoch FROM clock_timestamp() - since)::float8 AS age, remedy FROM (
	SELECT format('session %s of %s (%s, %s)', pid, usename, coalesce(nullif(application_name, ''), 'no name'), state) AS what,
		xact_start AS since, format('end it: SELECT pg_terminate_backend(%s)', pid) AS remedy
	FROM pg_stat_activity
	WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
		AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND backend_type <> 'autovacuum worker'
	UNION ALL
	SELECT format('prepared transaction %s', gid), prepared, format('end it: ROLLBACK PREPARED %L, or COMMIT PREPARED', gid)
	FROM pg_prepared_xacts WHERE database = current_database()
) held WHERE since < clock_timestamp() - $1::float8 * interval '1 second'
ORDER BY since`

// slotsSQL lists replication slots that hold back vacuum.
const slotsSQL = `SELECT slot_name, greatest(age(xmin), age(catalog_xmin)) AS transactions, active
FROM pg_replication_slots WHERE greatest(age(xmin), age(catalog_xmin)) > 1000000`

// invalidSQL lists indexes of the framework that a broken CREATE INDEX
// CONCURRENTLY left behind. $1 schemas, $2 tables.
const invalidSQL = `SELECT i.indexrelid::regclass::text FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace ns ON ns.oid = c.relnamespace
JOIN unnest($1::text[], $2::text[]) AS t(s, n) ON t.s = ns.nspname AND t.n = c.relname
WHERE NOT (i.indisvalid AND i.indisready) ORDER BY 1`

// tableSQL describes the job table. $1 its qualified name.
const tableSQL = `SELECT pg_table_size(c.oid) AS bytes, greatest(c.reltuples, 0)::bigint AS estimated, coalesce(s.n_live_tup, 0) AS live,
	coalesce(s.n_dead_tup, 0) AS dead, coalesce(extract(epoch FROM clock_timestamp() - greatest(s.last_autovacuum, s.last_vacuum)), -1)::float8 AS vacuumed,
	coalesce(array_to_string(c.reloptions, ' '), '') AS options, age(c.relfrozenxid) AS frozen_age,
	current_setting('autovacuum_freeze_max_age')::int AS freeze_max
FROM pg_class c LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE c.oid = $1::regclass`

// indexBloatSQL lists partial indexes of the job table that are far larger than
// their entries need. $1 the table's qualified name, $2 bytes below which size
// does not matter.
const indexBloatSQL = `SELECT c.oid::regclass::text AS name, pg_relation_size(c.oid) AS bytes, greatest(c.reltuples, 0)::bigint AS entries
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = $1::regclass AND i.indpred IS NOT NULL AND pg_relation_size(c.oid) > $2
	AND pg_relation_size(c.oid) > 20 * 64 * greatest(c.reltuples, 0)
ORDER BY 1`

const modelsSQL = `SELECT count(DISTINCT model) FROM %[1]s.node WHERE expires_at > clock_timestamp()`
