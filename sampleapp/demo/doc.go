// Package demo plays a day of the delivery company on a PostgreSQL of its own:
// what commits and what rolls back, listeners that fail, a worker that is killed,
// and a listener that nobody runs. At the end it checks the books, by SQL alone.
//
// Three kinds of processes take part. This one publishes; it declares all
// listeners and runs no deferred one. Workers are child processes of the same
// program that deliver. The mail server is the outside world: it is scripted to
// be down at the right moments, and to say when a worker is in the middle of a
// listener.
package demo
