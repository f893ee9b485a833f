package access

// Self is what a usecase or service gets besides its context: the input it was
// called with, the dependencies that its declaration names, and the
// transaction it runs in.
//
// Everything that an operation calls or emits stands in Deps, a plain struct
// that the kernel fills from the fx container, so that the flow of an app is
// known at boot. A Self can be filled by hand in a test, without kernel, fx or
// database.
type Self[In, Deps any] struct {
	// Input is the value the operation was called with, already validated.
	Input In
	// Deps are the declared dependencies. Read them, do not change them: one
	// value serves all calls.
	Deps Deps
	// Tx is the transaction. In a service called without one its verbs return
	// ErrNoTransaction; in a usecase it is always there.
	Tx Tx
}
