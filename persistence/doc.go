// Package persistence is the kernel's way to PostgreSQL: transactions with
// REQUIRED semantics (Database, Transaction), statements prepared once on the
// pool (Statement), and the classification of errors by what they say about a
// transaction's outcome. Its sub-packages map values to columns (mapping), model
// the owned tables (schema) and run PostgreSQL for development and tests
// (pgserver).
//
// The package knows no other room of the kernel. Everything goes through
// database/sql; nothing depends on the driver beyond the SQLState method that
// the errors of both lib/pq and pgx have.
package persistence
