package demo

// newsSQL tells what went wrong since the last look, and for whom: $1 the last
// seen row. An event is a row with its fields as columns, which anyone can query.
const newsSQL = `SELECT h.id, h.kind, h.attempt, coalesce(h.error, '') AS error, coalesce(e."Customer.Name", '') AS customer
FROM tidings.delivery_history h
JOIN tidings.delivery d ON d.id = h.delivery_id
LEFT JOIN "example.delivery"."@event:StopMoved" e ON e.id = d.event_id
WHERE h.id > $1 ORDER BY h.id`

// jobSQL finds the job of a moved or completed stop: $1 stop, $2 listener.
const jobSQL = `SELECT j.state, j.attempts, coalesce(j.reason, '') AS reason
FROM tidings.jobs j
JOIN (
	SELECT id, "Stop" AS stop FROM "example.delivery"."@event:StopMoved"
	UNION ALL SELECT id, "Stop" FROM "example.delivery"."@event:StopCompleted"
) e ON e.id = j.event_id
WHERE e.stop = $1 AND j.listener = $2`

const blockedSQL = `SELECT listener || ': ' || state || ', ' || reason FROM tidings.jobs WHERE state = 'BLOCKED'`

// unsettledSQL finds the jobs that a live worker still has to deliver.
const unsettledSQL = `SELECT FROM tidings.jobs WHERE state IN ('READY', 'CLAIMED', 'WAITING')`

const liveSQL = `SELECT count(*) FROM tidings.node WHERE name = $1 AND expires_at > clock_timestamp()`

const toldSQL = `SELECT count(*) FROM notification WHERE stop = $1`

const storedSQL = `SELECT (SELECT count(*) FROM "example.delivery"."@event:StopMoved")
	+ (SELECT count(*) FROM tidings.delivery) + (SELECT sum(moves) FROM board) + (SELECT sum(moves) FROM stop)`

// booksSQL is the head of every query of the books. It uses only tables: those
// of the events and jobs, and the app's own.
//
//	fact      what the app's own tables say has happened, per event type
//	event     what is stored
//	expected  every stored event with every declared deferred listener of its type
//	effect    what the deferred listeners did, by the event they did it for
//	entry     each expected delivery with its job and the number of its effects
const booksSQL = `WITH fact(type, n) AS (
	SELECT 'example.delivery.TourPlanned', count(*) FROM tour
	UNION ALL SELECT 'example.delivery.StopMoved', coalesce(sum(moves), 0) FROM stop
	UNION ALL SELECT 'example.delivery.StopCompleted', count(*) FROM stop WHERE completed
	UNION ALL SELECT 'example.delivery.DayClosed', count(*) FROM closed_day
), event(type, id) AS (
	SELECT 'example.delivery.TourPlanned', id FROM "example.delivery"."@event:TourPlanned"
	UNION ALL SELECT 'example.delivery.StopMoved', id FROM "example.delivery"."@event:StopMoved"
	UNION ALL SELECT 'example.delivery.StopCompleted', id FROM "example.delivery"."@event:StopCompleted"
	UNION ALL SELECT 'example.delivery.DayClosed', id FROM "example.delivery"."@event:DayClosed"
), expected(type, event, listener) AS (
	SELECT e.type, e.id, l.name FROM event e
	JOIN tidings.event_type t ON t.name = e.type
	JOIN tidings.listener l ON l.event_type_id = t.id
), effect(listener, event) AS (
	SELECT 'example.delivery.NotifyCustomer', because FROM notification
	UNION ALL SELECT 'example.delivery.InvoiceStop', because FROM invoice
	UNION ALL SELECT 'example.office.ReportDay', because FROM day_report
), entry AS (
	SELECT x.type, x.event, x.listener, j.state,
		(SELECT count(*) FROM effect f WHERE f.listener = x.listener AND f.event = x.event) AS effects
	FROM expected x
	LEFT JOIN tidings.jobs j ON j.event_id = x.event AND j.listener = x.listener
)
`

// countsSQL counts what became of it all.
const countsSQL = booksSQL + `SELECT
	(SELECT sum(n) FROM fact)::bigint AS emitted,
	(SELECT count(*) FROM event) AS stored,
	count(*) FILTER (WHERE state = 'COMPLETED') AS delivered,
	count(*) FILTER (WHERE state = 'COMPLETED' AND EXISTS (
		SELECT FROM tidings.delivery_history h WHERE h.delivery_id = jobs.id AND h.kind = 'FAILURE')) AS retried,
	count(*) FILTER (WHERE state = 'COMPLETED' AND EXISTS (
		SELECT FROM tidings.delivery_history h WHERE h.delivery_id = jobs.id AND h.kind = 'LEASE_LOST')) AS recovered,
	count(*) FILTER (WHERE state = 'FAILED') AS failed,
	count(*) FILTER (WHERE state = 'BLOCKED') AS blocked
FROM tidings.jobs`

// findingsSQL names what is lost or happened twice: none, in balanced books.
const findingsSQL = booksSQL + `, stored(type, n) AS (
	SELECT f.type, (SELECT count(*) FROM event e WHERE e.type = f.type) FROM fact f
), moved(tour, board, events) AS (
	SELECT b.tour, b.moves, (SELECT count(*) FROM "example.delivery"."@event:StopMoved" e WHERE e."Tour" = b.tour) FROM board b
), completed(tour, board, events) AS (
	SELECT b.tour, b.completed, (SELECT count(*) FROM "example.delivery"."@event:StopCompleted" e WHERE e."Tour" = b.tour) FROM board b
)
SELECT 'lost' AS what, f.n - s.n AS n, 'a fact without its event: ' || f.type AS text
FROM fact f JOIN stored s USING (type) WHERE f.n > s.n
UNION ALL
SELECT 'duplicated', s.n - f.n, 'an event without its fact: ' || f.type
FROM fact f JOIN stored s USING (type) WHERE f.n < s.n
UNION ALL
SELECT 'lost', 1, 'an event without its job: ' || listener || ' of ' || type || ' ' || event
FROM entry WHERE state IS NULL
UNION ALL
SELECT 'lost', 1, 'a COMPLETED job without its effect: ' || listener || ' of ' || type || ' ' || event
FROM entry WHERE state = 'COMPLETED' AND effects = 0
UNION ALL
SELECT 'duplicated', effects - 1, 'one job, ' || effects || ' effects: ' || listener || ' of ' || type || ' ' || event
FROM entry WHERE effects > 1 AND (state IS NULL OR state = 'COMPLETED')
UNION ALL
SELECT 'duplicated', effects, 'a job that is ' || state || ' has an effect: ' || listener || ' of ' || type || ' ' || event
FROM entry WHERE effects > 0 AND state <> 'COMPLETED'
UNION ALL
SELECT 'duplicated', count(*), 'an effect without an event: ' || f.listener || ' of ' || f.event
FROM effect f WHERE NOT EXISTS (SELECT FROM expected x WHERE x.listener = f.listener AND x.event = f.event)
GROUP BY f.listener, f.event
UNION ALL
SELECT CASE WHEN board < events THEN 'lost' ELSE 'duplicated' END, abs(board - events),
	'the board counts ' || board || ' moves of tour ' || tour || ', the events are ' || events
FROM moved WHERE board <> events
UNION ALL
SELECT CASE WHEN board < events THEN 'lost' ELSE 'duplicated' END, abs(board - events),
	'the board counts ' || board || ' completions of tour ' || tour || ', the events are ' || events
FROM completed WHERE board <> events
ORDER BY 1, 3`
