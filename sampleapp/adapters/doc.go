// Package adapters is how the delivery company reaches the outside: repositories
// on PostgreSQL, all of them in the transaction they are handed, and a mail
// server behind HTTP.
package adapters
