package access

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// ErrNotRunning is returned by a handle of an app that was not assembled or
// not started, and by a zero handle.
var ErrNotRunning = errors.New("not running")

// ErrDepth is returned when operations call each other or emit to each other
// too deeply: an endless recursion in all likelihood.
var ErrDepth = errors.New("operations nested too deeply")

// maxDepth bounds nested calls of any kind. It is far above what apps nest
// (emits have a lower limit of their own) and far below a stack overflow.
const maxDepth = 256

// Target names what a handle reaches: a kind and the Go type it takes.
type Target struct {
	Kind Kind
	Type reflect.Type
}

// String returns the target as an error names it.
func (t Target) String() string {
	switch t.Kind {
	case KindEvent:
		return fmt.Sprintf("event of type %v", t.Type)
	default:
		return fmt.Sprintf("%s with input %v", t.Kind, t.Type)
	}
}

// Operation is an operation as the runtime delivers it: erased, and with
// everything around it (transaction, validation, error identity) inside.
type Operation func(ctx context.Context, in any) (any, error)

// Runtime connects the handles of one app to its operations. Handles depend on
// it alone, so that listener, usecase, emitter and the same listener again are
// no cycle in the container. It is filled once, at assembly, and safe for
// concurrent use.
type Runtime struct {
	mu  sync.RWMutex
	ops map[Target]Operation
}

// NewRuntime returns an empty runtime.
func NewRuntime() *Runtime { return &Runtime{ops: map[Target]Operation{}} }

// Bind makes op the operation of target.
func (r *Runtime) Bind(target Target, op Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops[target] = op
}

// Call delivers in to the operation of target.
func (r *Runtime) Call(ctx context.Context, target Target, in any) (any, error) {
	if r == nil {
		return nil, fmt.Errorf("%s: the handle is not connected to an app: %w", target, ErrNotRunning)
	}
	r.mu.RLock()
	op, ok := r.ops[target]
	r.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("%s: the app is not assembled: %w", target, ErrNotRunning)
	}
	depth, _ := ctx.Value(depthKey{}).(int)
	if depth >= maxDepth {
		return nil, fmt.Errorf("%s: %w (limit %d)", target, ErrDepth, maxDepth)
	}
	return op(context.WithValue(ctx, depthKey{}, depth+1), in)
}

type depthKey struct{}
