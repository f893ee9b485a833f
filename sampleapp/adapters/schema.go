package adapters

// Schema makes the app's own tables. The tables of events and jobs are the
// kernel's: `sampleapp schema show` prints them.
//
// The tables of effects (notification, invoice, day_report) name the event that
// they follow from, deliberately without a unique constraint: that there is one
// effect per event is the promise of the delivery, and the demo proves it by
// counting, not by having the database refuse a second one.
var Schema = []string{
	`CREATE TABLE tour (
	id uuid PRIMARY KEY,
	day date NOT NULL,
	driver text NOT NULL
)`,
	`CREATE TABLE stop (
	id uuid PRIMARY KEY,
	tour uuid NOT NULL REFERENCES tour,
	position integer NOT NULL,
	name text NOT NULL,
	email text NOT NULL,
	street text NOT NULL,
	zip text NOT NULL,
	city text NOT NULL,
	moves integer NOT NULL DEFAULT 0,
	fees bigint NOT NULL DEFAULT 0,
	completed boolean NOT NULL DEFAULT false,
	UNIQUE (tour, position)
)`,
	`CREATE TABLE closed_day (
	day date PRIMARY KEY
)`,
	`CREATE TABLE board (
	tour uuid PRIMARY KEY REFERENCES tour,
	day date NOT NULL,
	driver text NOT NULL,
	stops integer NOT NULL,
	moves integer NOT NULL DEFAULT 0,
	completed integer NOT NULL DEFAULT 0
)`,
	`CREATE TABLE notification (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	stop uuid NOT NULL REFERENCES stop,
	because uuid NOT NULL,
	text text NOT NULL
)`,
	`CREATE TABLE invoice (
	number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	stop uuid NOT NULL REFERENCES stop,
	because uuid NOT NULL,
	cents bigint NOT NULL CHECK (cents > 0)
)`,
	`CREATE TABLE day_report (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	day date NOT NULL,
	because uuid NOT NULL,
	tours integer NOT NULL,
	stops integer NOT NULL,
	completed integer NOT NULL
)`,
}
