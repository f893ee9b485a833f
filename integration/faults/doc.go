// Package faults puts the delivery under fire: several processes of a small app
// on one real PostgreSQL, killed, paused, cut off at every statement, behind slow
// and dead networks, on servers that crash and refuse, judged by the oracle of
// integration/delivery.
//
// Every kind runs once and short with `go test`, and long with `make soak`. A run
// prints its seed; -faults.seed repeats it as far as scheduling allows.
// docs/reliability.md tells what each kind does and what it found.
package faults
