-- Migration candidate "initial", file 1 of 1: one transaction, all or nothing.
-- tidings snapshot: 20261130233114_initial.snapshot.json
--
-- NOTICE: this is an UNREVIEWED CANDIDATE, written by comparing two models. Nobody has reviewed or tested it.
-- The developer alone is responsible for its review, testing and approval, including its effect on data, its
-- order, its compatibility with running code, its locks and duration, backup and recovery.
-- --force acknowledges a risk; it transfers nothing.
--
-- Steps: 15 SAFE

-- +goose Up
-- Whoever waits for a lock has all who come later wait behind it. After 5 seconds the migration
-- gives up instead, with nothing changed; run it again, at a quieter time.
SET LOCAL lock_timeout = '5s';

-- Step 1 of 15 · SAFE · create schema "example.delivery"
--   Existing rows none are there yet.
--   Locks none.
CREATE SCHEMA IF NOT EXISTS "example.delivery";

-- Step 2 of 15 · SAFE · create schema "tidings"
--   Existing rows none are there yet.
--   Locks none.
CREATE SCHEMA IF NOT EXISTS "tidings";

-- Step 3 of 15 · SAFE · create table "example.delivery"."@event:DayClosed"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "example.delivery"."@event:DayClosed" (
	"id" uuid NOT NULL,
	"@occurredAt" timestamp with time zone NOT NULL,
	"@nanos:@occurredAt" smallint NOT NULL DEFAULT 0,
	"@recordedAt" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"@correlation" text NOT NULL,
	"@causation" uuid,
	"@trace" text,
	"Day" text NOT NULL,
	"Tours" bigint NOT NULL,
	"Stops" bigint NOT NULL,
	"Completed" bigint NOT NULL,
	CONSTRAINT "@event:DayClosed_pkey" PRIMARY KEY ("id")
);
-- +goose StatementEnd

-- Step 4 of 15 · SAFE · create table "example.delivery"."@event:StopCompleted"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "example.delivery"."@event:StopCompleted" (
	"id" uuid NOT NULL,
	"@occurredAt" timestamp with time zone NOT NULL,
	"@nanos:@occurredAt" smallint NOT NULL DEFAULT 0,
	"@recordedAt" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"@correlation" text NOT NULL,
	"@causation" uuid,
	"@trace" text,
	"Stop" uuid NOT NULL,
	"Tour" uuid NOT NULL,
	"PriceCents" bigint NOT NULL,
	CONSTRAINT "@event:StopCompleted_pkey" PRIMARY KEY ("id")
);
-- +goose StatementEnd

-- Step 5 of 15 · SAFE · create table "example.delivery"."@event:StopMoved"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "example.delivery"."@event:StopMoved" (
	"id" uuid NOT NULL,
	"@occurredAt" timestamp with time zone NOT NULL,
	"@nanos:@occurredAt" smallint NOT NULL DEFAULT 0,
	"@recordedAt" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"@correlation" text NOT NULL,
	"@causation" uuid,
	"@trace" text,
	"Stop" uuid NOT NULL,
	"Tour" uuid NOT NULL,
	"Customer.Name" text NOT NULL,
	"Customer.Email" text NOT NULL,
	"From.Street" text NOT NULL,
	"From.Zip" text NOT NULL,
	"From.City" text NOT NULL,
	"To.Street" text NOT NULL,
	"To.Zip" text NOT NULL,
	"To.City" text NOT NULL,
	"FeeCents" bigint NOT NULL,
	CONSTRAINT "@event:StopMoved_pkey" PRIMARY KEY ("id")
);
-- +goose StatementEnd

-- Step 6 of 15 · SAFE · create table "example.delivery"."@event:TourPlanned"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "example.delivery"."@event:TourPlanned" (
	"id" uuid NOT NULL,
	"@occurredAt" timestamp with time zone NOT NULL,
	"@nanos:@occurredAt" smallint NOT NULL DEFAULT 0,
	"@recordedAt" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"@correlation" text NOT NULL,
	"@causation" uuid,
	"@trace" text,
	"Tour" uuid NOT NULL,
	"Day" text NOT NULL,
	"Driver" text NOT NULL,
	"Stops" bigint NOT NULL,
	CONSTRAINT "@event:TourPlanned_pkey" PRIMARY KEY ("id")
);
-- +goose StatementEnd

-- Step 7 of 15 · SAFE · create table "tidings"."delivery"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "tidings"."delivery" (
	"id" bigint NOT NULL GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME "tidings"."delivery_id_seq"),
	"event_type_id" integer NOT NULL,
	"event_id" uuid NOT NULL,
	"listener_id" integer NOT NULL,
	"replay" integer NOT NULL DEFAULT 0,
	"state" text NOT NULL DEFAULT 'READY'::text,
	"created_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"due_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"run" integer NOT NULL DEFAULT 1,
	"attempts" integer NOT NULL DEFAULT 0,
	"suspect" boolean NOT NULL DEFAULT false,
	"lease_losses" integer NOT NULL DEFAULT 0,
	"hand_backs" integer NOT NULL DEFAULT 0,
	"claim_token" uuid,
	"claimed_by" uuid,
	"lease_expires_at" timestamp with time zone,
	"started_at" timestamp with time zone,
	"first_attempt_at" timestamp with time zone,
	"last_attempt_at" timestamp with time zone,
	"completed_at" timestamp with time zone,
	"failed_at" timestamp with time zone,
	"failure" text,
	"last_error" text,
	"ordering_key" text,
	CONSTRAINT "delivery_pkey" PRIMARY KEY ("id"),
	CONSTRAINT "delivery_event_id_listener_id_replay_key" UNIQUE ("event_id", "listener_id", "replay"),
	CONSTRAINT "delivery_state" CHECK (state IN ('READY', 'CLAIMED', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED')),
	CONSTRAINT "delivery_token" CHECK ((state = 'CLAIMED') = (claim_token IS NOT NULL))
) WITH (autovacuum_vacuum_cost_delay = '0', autovacuum_vacuum_scale_factor = '0', autovacuum_vacuum_threshold = '20000');
-- +goose StatementEnd
CREATE INDEX "delivery_claimed" ON "tidings"."delivery" ("lease_expires_at") WHERE state = 'CLAIMED';
CREATE INDEX "delivery_failed" ON "tidings"."delivery" ("listener_id", "id") WHERE state = 'FAILED';
CREATE INDEX "delivery_ready" ON "tidings"."delivery" ("listener_id", "created_at", "id") WHERE state = 'READY' AND NOT suspect;
CREATE INDEX "delivery_suspect" ON "tidings"."delivery" ("listener_id", "created_at", "id") WHERE state = 'READY' AND suspect;
CREATE INDEX "delivery_waiting" ON "tidings"."delivery" ("due_at") WHERE state = 'WAITING';
COMMENT ON TABLE "tidings"."delivery" IS 'Jobs: one per event and deferred listener. The view jobs shows them with names.';

-- Step 8 of 15 · SAFE · create table "tidings"."delivery_history"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "tidings"."delivery_history" (
	"id" bigint NOT NULL GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME "tidings"."delivery_history_id_seq"),
	"delivery_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"run" integer NOT NULL,
	"attempt" integer NOT NULL,
	"late" boolean NOT NULL DEFAULT false,
	"node_id" uuid,
	"recorded_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"failure" text,
	"error" text,
	CONSTRAINT "delivery_history_pkey" PRIMARY KEY ("id")
);
-- +goose StatementEnd
CREATE INDEX "delivery_history_job" ON "tidings"."delivery_history" ("delivery_id", "id");
COMMENT ON TABLE "tidings"."delivery_history" IS 'What happened to jobs: failed attempts (late: the job had been lost by then), lost leases, hand-backs.';

-- Step 9 of 15 · SAFE · create table "tidings"."event_type"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "tidings"."event_type" (
	"id" integer NOT NULL GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME "tidings"."event_type_id_seq"),
	"name" text NOT NULL,
	CONSTRAINT "event_type_pkey" PRIMARY KEY ("id"),
	CONSTRAINT "event_type_name_key" UNIQUE ("name")
);
-- +goose StatementEnd
-- +goose StatementBegin
COMMENT ON TABLE "tidings"."event_type" IS 'Event types by their declared identity; jobs refer to them by number.';
-- +goose StatementEnd

-- Step 10 of 15 · SAFE · create table "tidings"."listener"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "tidings"."listener" (
	"id" integer NOT NULL GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME "tidings"."listener_id_seq"),
	"event_type_id" integer NOT NULL,
	"name" text NOT NULL,
	CONSTRAINT "listener_pkey" PRIMARY KEY ("id"),
	CONSTRAINT "listener_name_key" UNIQUE ("name")
);
-- +goose StatementEnd
-- +goose StatementBegin
COMMENT ON TABLE "tidings"."listener" IS 'Deferred listeners by their declared identity; jobs refer to them by number.';
-- +goose StatementEnd

-- Step 11 of 15 · SAFE · create table "tidings"."node"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "tidings"."node" (
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"started_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"seen_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"expires_at" timestamp with time zone NOT NULL,
	"listeners" integer[] NOT NULL,
	"model" text NOT NULL,
	CONSTRAINT "node_pkey" PRIMARY KEY ("id")
);
-- +goose StatementEnd
COMMENT ON TABLE "tidings"."node" IS 'Nodes that deliver, and the listeners they have. A node is live until expires_at.';

-- Step 12 of 15 · SAFE · create table "tidings"."operation"
--   Existing rows none are there yet: indexes and constraints cost nothing, so they are made at once.
--   Locks none that anybody waits for.
-- +goose StatementBegin
CREATE TABLE "tidings"."operation" (
	"id" bigint NOT NULL GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME "tidings"."operation_id_seq"),
	"recorded_at" timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
	"operator" text NOT NULL,
	"action" text NOT NULL,
	"subject" text NOT NULL,
	"jobs" bigint NOT NULL DEFAULT 0,
	"reason" text,
	CONSTRAINT "operation_pkey" PRIMARY KEY ("id")
);
-- +goose StatementEnd
COMMENT ON TABLE "tidings"."operation" IS 'What operators did to jobs.';

-- Step 13 of 15 · SAFE · add foreign key "listener_event_type_id_fkey" of "tidings"."listener" to "tidings"."event_type"
--   Existing rows none are there yet.
--   Locks both tables against writers, for a moment (SHARE ROW EXCLUSIVE).
ALTER TABLE "tidings"."listener" ADD CONSTRAINT "listener_event_type_id_fkey" FOREIGN KEY ("event_type_id") REFERENCES "tidings"."event_type" ("id");

-- Step 14 of 15 · SAFE · create view "tidings"."jobs"
--   Existing rows are not touched.
--   Locks none.
-- +goose StatementBegin
CREATE VIEW "tidings"."jobs" AS
SELECT d.id, t.name AS event, d.event_id, l.name AS listener, d.replay,
	CASE WHEN d.state IN ('READY', 'WAITING') AND NOT live.found THEN 'BLOCKED' ELSE d.state END AS state,
	d.state AS stored_state,
	CASE WHEN d.state IN ('READY', 'WAITING') AND NOT live.found THEN 'no live node has the listener' ELSE d.failure END AS reason,
	d.created_at, d.due_at, d.run, d.attempts, d.suspect, d.lease_losses, d.hand_backs,
	d.claimed_by, d.lease_expires_at, d.started_at, d.first_attempt_at, d.last_attempt_at,
	d.completed_at, d.failed_at, d.last_error, d.ordering_key
FROM "tidings".delivery d
JOIN "tidings".listener l ON l.id = d.listener_id
JOIN "tidings".event_type t ON t.id = d.event_type_id
CROSS JOIN LATERAL (SELECT EXISTS (
	SELECT FROM "tidings".node n WHERE n.expires_at > clock_timestamp() AND d.listener_id = ANY (n.listeners)) AS found) live;
-- +goose StatementEnd
-- +goose StatementBegin
COMMENT ON VIEW "tidings"."jobs" IS 'Jobs with the names of their event and listener; state BLOCKED where no live node has the listener.';
-- +goose StatementEnd

-- Step 15 of 15 · SAFE · create view "tidings"."history"
--   Existing rows are not touched.
--   Locks none.
-- +goose StatementBegin
CREATE VIEW "tidings"."history" AS
SELECT h.id, h.recorded_at, h.delivery_id AS job, l.name AS listener, d.event_id, h.kind, h.run, h.attempt, h.late,
	h.failure, h.error, h.node_id
FROM "tidings".delivery_history h
LEFT JOIN "tidings".delivery d ON d.id = h.delivery_id
LEFT JOIN "tidings".listener l ON l.id = d.listener_id;
-- +goose StatementEnd
COMMENT ON VIEW "tidings"."history" IS 'What happened to jobs, with the names of their listeners.';

-- +goose Down
-- What was written since into tables and columns that the way up made is LOST on the way down.
-- Whoever waits for a lock has all who come later wait behind it. After 5 seconds the migration
-- gives up instead, with nothing changed; run it again, at a quieter time.
SET LOCAL lock_timeout = '5s';

-- Step 1 of 13 · SAFE · drop view "tidings"."history"
--   Existing rows are not touched. Who reads the view fails from here on.
--   Locks the view, for a moment.
DROP VIEW IF EXISTS "tidings"."history";

-- Step 2 of 13 · SAFE · drop view "tidings"."jobs"
--   Existing rows are not touched. Who reads the view fails from here on.
--   Locks the view, for a moment.
DROP VIEW IF EXISTS "tidings"."jobs";

-- Step 3 of 13 · SAFE · drop foreign key "listener_event_type_id_fkey" of "tidings"."listener"
--   Existing rows are not touched; new ones are no longer held to it.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
ALTER TABLE "tidings"."listener" DROP CONSTRAINT IF EXISTS "listener_event_type_id_fkey";

-- Step 4 of 13 · DESTRUCTIVE · drop table "example.delivery"."@event:DayClosed"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'example.delivery.@event:DayClosed' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "example.delivery"."@event:DayClosed";
DROP TABLE IF EXISTS "example.delivery"."@event:DayClosed";

-- Step 5 of 13 · DESTRUCTIVE · drop table "example.delivery"."@event:StopCompleted"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'example.delivery.@event:StopCompleted' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "example.delivery"."@event:StopCompleted";
DROP TABLE IF EXISTS "example.delivery"."@event:StopCompleted";

-- Step 6 of 13 · DESTRUCTIVE · drop table "example.delivery"."@event:StopMoved"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'example.delivery.@event:StopMoved' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "example.delivery"."@event:StopMoved";
DROP TABLE IF EXISTS "example.delivery"."@event:StopMoved";

-- Step 7 of 13 · DESTRUCTIVE · drop table "example.delivery"."@event:TourPlanned"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'example.delivery.@event:TourPlanned' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "example.delivery"."@event:TourPlanned";
DROP TABLE IF EXISTS "example.delivery"."@event:TourPlanned";

-- Step 8 of 13 · DESTRUCTIVE · drop table "tidings"."delivery"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'tidings.delivery' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "tidings"."delivery";
DROP TABLE IF EXISTS "tidings"."delivery";

-- Step 9 of 13 · DESTRUCTIVE · drop table "tidings"."delivery_history"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'tidings.delivery_history' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "tidings"."delivery_history";
DROP TABLE IF EXISTS "tidings"."delivery_history";

-- Step 10 of 13 · DESTRUCTIVE · drop table "tidings"."event_type"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'tidings.event_type' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "tidings"."event_type";
DROP TABLE IF EXISTS "tidings"."event_type";

-- Step 11 of 13 · DESTRUCTIVE · drop table "tidings"."listener"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'tidings.listener' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "tidings"."listener";
DROP TABLE IF EXISTS "tidings"."listener";

-- Step 12 of 13 · DESTRUCTIVE · drop table "tidings"."node"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'tidings.node' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "tidings"."node";
DROP TABLE IF EXISTS "tidings"."node";

-- Step 13 of 13 · DESTRUCTIVE · drop table "tidings"."operation"
--   Existing rows are LOST, all of them, at once and for good; only a backup brings them back.
--   Locks the table against everything, for a moment (ACCESS EXCLUSIVE).
--   Instead: keep the table with --keep 'tidings.operation' until nobody needs its rows.
--   To look first: SELECT count(*) FROM "tidings"."operation";
DROP TABLE IF EXISTS "tidings"."operation";

