package access

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// OperationError is an error that an operation returned, with the operation's
// identity and the place of its declaration.
type OperationError struct {
	Kind     Kind
	Identity string
	Source   Location
	Err      error
}

// Error names the operation and the place of its declaration.
func (e *OperationError) Error() string {
	return fmt.Sprintf("%s (%s): %v", e.Identity, e.Source, e.Err)
}

// Unwrap returns the operation's own error.
func (e *OperationError) Unwrap() error { return e.Err }

// PanicError is a panic of an operation, turned into an error.
type PanicError struct {
	// Value is what was panicked with.
	Value any
	// Stack is the goroutine's stack at the panic.
	Stack []byte
}

// Error returns the panic's value; the stack is in Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Protect runs f and turns its panic into a *PanicError. runtime.Goexit passes
// through, as it must: deferred functions of the callers see it.
func Protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// Identify gives err the identity and place of d; nil stays nil. Of operations
// nested too deeply the innermost is named alone, not each of the hundreds.
func Identify(d *Declaration, err error) error {
	if err == nil {
		return nil
	}
	if inner := new(OperationError); errors.Is(err, ErrDepth) && errors.As(err, &inner) {
		return err
	}
	return &OperationError{Kind: d.Kind, Identity: d.Identity, Source: d.Source, Err: err}
}
