package mapping

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrType is wrapped by every error of [NewPlan]: the type or an option does
	// not fit.
	ErrType = errors.New("type cannot be mapped")
	// ErrValue is wrapped by every error of [Plan.Encode]: this value cannot be
	// stored without loss.
	ErrValue = errors.New("value cannot be stored")
	// ErrRebuild is wrapped by every error of [Plan.Decode]: the stored row does
	// not yield a value that is valid today.
	ErrRebuild = errors.New("value cannot be rebuilt")
)

// FieldError says which field has a problem. It wraps one of [ErrType],
// [ErrValue] and [ErrRebuild] and, where there is one, the cause.
type FieldError struct {
	Type   string // the mapped type, such as delivery.StopMoved
	Path   string // of the field, such as To.Zip; empty: the value itself
	Kind   error  // ErrType, ErrValue or ErrRebuild
	Err    error  // the problem
	WayOut string // what to do about it; may be empty
}

// Error names type, path, problem and way out.
func (e *FieldError) Error() string {
	text := fmt.Sprintf("%s: %s: %s", e.at(), e.Kind, e.Err)
	if e.WayOut != "" {
		text += "; " + e.WayOut
	}
	return text
}

func (e *FieldError) at() string {
	if e.Path == "" {
		return e.Type
	}
	return strings.Join([]string{e.Type, e.Path}, ": ")
}

// Unwrap returns the kind and the cause.
func (e *FieldError) Unwrap() []error { return []error{e.Kind, e.Err} }
