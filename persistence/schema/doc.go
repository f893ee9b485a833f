// Package schema is the model of the tables that an application owns: plain
// data in a deterministic order, from which DDL is yielded and with which a
// live database is compared.
//
// Only what stands in a [Model] is ever created, compared or reported; whatever
// else lives in the same database is left alone.
//
// Types and defaults are written in the form in which PostgreSQL prints them
// (format_type and pg_get_expr): "bigint" rather than "int8", "timestamp with
// time zone" rather than "timestamptz", "numeric(20,0)", "'READY'::text". DDL
// accepts this form, and [Differences] needs no parser of its own.
//
// Every function may be used by several goroutines at once, as long as nobody
// changes the model meanwhile.
package schema
