// Package doctor examines the database of an app and says what to do about what
// it finds: version, settings, privileges, schema, connections, clock, long-held
// snapshots, indexes, bloat, autovacuum, nodes and jobs. It only reads.
package doctor
