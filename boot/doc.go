// Package boot is the process around an app: its configuration from flags and
// environment, its connection pool, the embedded PostgreSQL of development, the
// order of start and stop, and the admin endpoint.
package boot
