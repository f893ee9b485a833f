// Package app is what the delivery company does: one file per usecase, service
// and listener, each a function of a context and the kernel's Self, with all it
// may call and emit in its Deps. What it needs from outside are the interfaces
// of outside.go; package adapters implements them.
package app
