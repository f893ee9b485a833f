// Package domain is what the delivery company knows, without a word about
// databases, HTTP or events: tours with their stops, what moving one costs, and
// invoices. Every field is private and every value comes out of a constructor
// that checks it, so whoever holds a value holds a valid one.
package domain
