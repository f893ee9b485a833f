// Package delivery runs deferred listeners: it claims jobs, processes each in a
// transaction that commits the listener's database effects together with the
// acknowledgement, records failures, and recovers what a dead or paused process
// left behind.
//
// One claimer per node feeds its workers; workers never poll. A claim is a
// fresh token chosen by the node and a lease by the database clock. The first
// statement of a processing transaction acknowledges the job on condition of the
// token: a worker that lost the job never starts the listener, and the row stays
// locked against every other claimer until the transaction ends.
//
// docs/event-contract.md states what is promised; queries.go holds every
// statement with the reason for its shape.
package delivery
