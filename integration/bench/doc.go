// Command bench measures Tidings beside others on the same work: the floor
// (pgbench running the same statements) and River. It starts a durable PostgreSQL
// of its own (fsync and synchronous_commit on), runs the contenders of a scenario
// in turn, several rounds, and prints tables in Markdown with medians, spreads and
// ratios; it also writes them as JSON. Read the ratios: absolute numbers are those
// of the machine and the hour. Every contender's work is checked by SQL.
//
//	go run ./integration/bench [-full] [-only process,emit] [-rounds 3] [-json FILE]
//
// -help tells of the sizes. docs/performance.md says what is measured and why.
package main
