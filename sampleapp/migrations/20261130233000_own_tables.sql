-- The app's own tables, written by hand: Tidings owns events and jobs alone.
-- A test compares them with adapters.Schema, which makes them in development.

-- +goose Up
CREATE TABLE tour (
	id uuid PRIMARY KEY,
	day date NOT NULL,
	driver text NOT NULL
);

CREATE TABLE stop (
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
);

CREATE TABLE closed_day (
	day date PRIMARY KEY
);

CREATE TABLE board (
	tour uuid PRIMARY KEY REFERENCES tour,
	day date NOT NULL,
	driver text NOT NULL,
	stops integer NOT NULL,
	moves integer NOT NULL DEFAULT 0,
	completed integer NOT NULL DEFAULT 0
);

CREATE TABLE notification (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	stop uuid NOT NULL REFERENCES stop,
	because uuid NOT NULL,
	text text NOT NULL
);

CREATE TABLE invoice (
	number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	stop uuid NOT NULL REFERENCES stop,
	because uuid NOT NULL,
	cents bigint NOT NULL CHECK (cents > 0)
);

CREATE TABLE day_report (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	day date NOT NULL,
	because uuid NOT NULL,
	tours integer NOT NULL,
	stops integer NOT NULL,
	completed integer NOT NULL
);

-- +goose Down
DROP TABLE day_report, invoice, notification, board, closed_day, stop, tour;
