// Package delivery holds black-box tests of the delivery runtime: several
// processes on one real PostgreSQL, killed, paused, cut off from the database,
// and judged by an oracle that reads the database alone. TIDINGS_LAB_WAY names the
// way in which they reach it: lib/pq (empty), pgx, pgbouncer, or "pgx,pgbouncer".
//
// Its helpers are packages of their own, for other tests to build on: process
// starts and ends child processes, pgproxy cuts connections at chosen
// statements, oracle judges.
package delivery
