// Package events declares events and their listeners, emits events inside the
// publisher's transaction, and reads stored ones.
//
// An event is a plain Go struct. Emit stores it once, typed, in its own table,
// with one job per deferred listener, and runs the synchronous listeners, all in
// the caller's transaction: event, jobs and the publisher's own writes commit or
// roll back together. Package delivery runs the jobs later.
//
//	events.Declare[StopMoved]("example.delivery.StopMoved")
//	events.Sync("example.delivery.KeepBoard", keepBoard)
//	events.Deferred("example.delivery.Notify", notify, events.MaxAttempts(5))
//
// Codecs and enums of the app's own types stand beside them: persistence.Codec and
// persistence.Enum. An app's Plans say how it stores each type; History reads
// stored events back. docs/storage.md tells what is stored how.
//
// docs/event-contract.md states what is promised.
package events
