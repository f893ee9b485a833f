// Command bench measures Tidings beside others on the same work: the floor
// (pgbench running the same statements) and River. It starts a durable PostgreSQL
// of its own (fsync and synchronous_commit on), runs the contenders of a scenario
// in turn, several rounds, and prints medians, spreads and ratios. Read the
// ratios: absolute numbers are those of the machine and the hour.
//
//	go run ./integration/bench [-rounds 3] [-seconds 5] [-jobs 10000] [-only process,emit] [-json FILE]
package main
