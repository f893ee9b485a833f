// Package access holds the words that every room of the kernel shares: Self,
// the one value through which an operation gets its input, its declared
// dependencies and its transaction; Tx, the transaction as an operation sees
// it; the declarations of an app and their catalogue; and the Runtime through
// which handles reach the operations of one app.
//
// The package knows no other package of the kernel.
package access
