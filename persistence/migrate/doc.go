// Package migrate turns changes of the schema model into migrations that are
// reviewed by people and run by goose.
//
// A migrations folder holds goose's SQL files and, beside them, snapshots of the
// model in a chain: each names the fingerprint of its predecessor. A candidate
// is what NewCandidate writes from the last snapshot and the app's model: one or
// two SQL files and the next snapshot. Other SQL files, such as those for the
// app's own tables, may stand among them.
//
// Nothing here decides that a migration is right: see Notice.
package migrate

// Notice stands in every file and is printed by every command.
const Notice = `NOTICE: this is an UNREVIEWED CANDIDATE, written by comparing two models. Nobody has reviewed or tested it.
The developer alone is responsible for its review, testing and approval, including its effect on data, its
order, its compatibility with running code, its locks and duration, backup and recovery.
--force acknowledges a risk; it transfers nothing.`

// DefaultDir is the migrations folder of an app.
const DefaultDir = "migrations"
