-- +goose NO TRANSACTION
-- Migration candidate "index_waiting_jobs", file 1 of 1: outside a transaction, step by step, so that locks stay short.
-- If it stops, mend the cause and run it again: every step may be repeated.
-- tidings snapshot: 20261130234358_index_waiting_jobs.snapshot.json
--
-- NOTICE: this is an UNREVIEWED CANDIDATE, written by comparing two models. Nobody has reviewed or tested it.
-- The developer alone is responsible for its review, testing and approval, including its effect on data, its
-- order, its compatibility with running code, its locks and duration, backup and recovery.
-- --force acknowledges a risk; it transfers nothing.
--
-- Steps: 1 SAFE

-- +goose Up
-- Step 1 of 1 · SAFE · create index "delivery_waiting_listener" on "tidings"."delivery"
--   Existing rows are read. A row whose keys are too long for an index (about 2,700 bytes) makes the step fail.
--   Locks no reader or writer while it is built; it waits for transactions that are older.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS "tidings"."delivery_waiting_listener";
CREATE INDEX CONCURRENTLY "delivery_waiting_listener" ON "tidings"."delivery" ("listener_id", "created_at") WHERE state = 'WAITING';

RESET lock_timeout;

-- +goose Down
-- What was written since into tables and columns that the way up made is LOST on the way down.
-- Step 1 of 1 · SAFE · drop index "delivery_waiting_listener" of "tidings"."delivery"
--   Existing rows are not touched. What read by this index gets slow.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
SET lock_timeout = '5s';
DROP INDEX IF EXISTS "tidings"."delivery_waiting_listener";

RESET lock_timeout;

