-- Migration candidate "add_note", file 1 of 1: one transaction, all or nothing.
-- tidings snapshot: 20261130233238_add_note.snapshot.json
--
-- NOTICE: this is an UNREVIEWED CANDIDATE, written by comparing two models. Nobody has reviewed or tested it.
-- The developer alone is responsible for its review, testing and approval, including its effect on data, its
-- order, its compatibility with running code, its locks and duration, backup and recovery.
-- --force acknowledges a risk; it transfers nothing.
--
-- Steps: 1 SAFE

-- +goose Up
-- Whoever waits for a lock has all who come later wait behind it. After 5 seconds the migration
-- gives up instead, with nothing changed; run it again, at a quieter time.
SET LOCAL lock_timeout = '5s';

-- Step 1 of 1 · SAFE · add column "Note" to "example.delivery"."@event:StopMoved"
--   Existing rows read '' in it; none is written: PostgreSQL keeps the value in the catalog. Code of before that inserts without it fails from here on: if old nodes run on meanwhile, let the column be NULL in a first migration and require it in a second, when they have gone.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
ALTER TABLE "example.delivery"."@event:StopMoved" ADD COLUMN "Note" text NOT NULL DEFAULT '';
ALTER TABLE "example.delivery"."@event:StopMoved" ALTER COLUMN "Note" DROP DEFAULT;

-- +goose Down
-- What was written since into tables and columns that the way up made is LOST on the way down.
-- Whoever waits for a lock has all who come later wait behind it. After 5 seconds the migration
-- gives up instead, with nothing changed; run it again, at a quieter time.
SET LOCAL lock_timeout = '5s';

-- Step 1 of 1 · DESTRUCTIVE · drop column "Note" of "example.delivery"."@event:StopMoved"
--   Existing rows LOSE what they hold in this column, at once and for good; only a backup brings it back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: leave the column as it is until nobody misses it: a nullable column that nothing writes costs one bit per row.
--   To look first: SELECT count(*) FROM "example.delivery"."@event:StopMoved" WHERE "Note" IS NOT NULL;
ALTER TABLE "example.delivery"."@event:StopMoved" DROP COLUMN IF EXISTS "Note";

