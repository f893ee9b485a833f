// Package usecase declares and delivers usecases and services.
//
// A usecase is one application operation with a REQUIRED transaction: it joins
// the transaction that its context carries, or else opens one and owns it. An
// action is a usecase without output. A service is a stateless domain capability
// with the same delivery; it runs in the caller's transaction where there is
// one and never opens one.
//
//	usecase.Declare("example.delivery.MoveStop", moveStop, usecase.Validate(MoveStop.check))
//
// From outside (an HTTP handler, a job, a test) an operation is called through
// its handle, which the fx container provides: Usecase, Action or Service.
package usecase
