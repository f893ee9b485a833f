package migrate

// The version table stands in the framework's schema, so that two apps in one
// database have one each. %[1]s is the schema, %[2]s the table, both quoted.
const (
	// versionLock serialises the creation of the table: CREATE … IF NOT EXISTS
	// by several sessions at once fails with a duplicate key in the catalog.
	versionLock   = `SELECT pg_catalog.pg_advisory_xact_lock($1)`
	createSchema  = `CREATE SCHEMA IF NOT EXISTS %[1]s`
	createVersion = `CREATE TABLE IF NOT EXISTS %[2]s (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	version_id bigint NOT NULL UNIQUE,
	is_applied boolean NOT NULL,
	tstamp timestamp with time zone NOT NULL DEFAULT clock_timestamp()
)`
	// Version 0 marks the table as new; every session that makes it says so.
	insertZero    = `INSERT INTO %[2]s (version_id, is_applied) VALUES (0, true) ON CONFLICT DO NOTHING`
	insertVersion = `INSERT INTO %[2]s (version_id, is_applied) VALUES ($1, true)`
	deleteVersion = `DELETE FROM %[2]s WHERE version_id = $1`
	getVersion    = `SELECT tstamp, is_applied FROM %[2]s WHERE version_id = $1`
	latestVersion = `SELECT max(version_id) FROM %[2]s`
	listVersions  = `SELECT version_id, is_applied FROM %[2]s ORDER BY id DESC`
	versionExists = `SELECT pg_catalog.to_regclass($1) IS NOT NULL`

	// Scratch databases that killed processes left: named with their birth in
	// Unix seconds, nobody connected.
	listScratch = `SELECT datname FROM pg_catalog.pg_database d
WHERE datname LIKE 'tidings\_scratch\_%' AND split_part(datname, '_', 3) ~ '^[0-9]{1,12}$'
	AND split_part(datname, '_', 3)::bigint < extract(epoch FROM clock_timestamp()) - $1
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.datid = d.oid)`
)
