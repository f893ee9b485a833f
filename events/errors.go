package events

import (
	"errors"

	"github.com/tidings-go/tidings/access"
)

var (
	// ErrNoTransaction is returned by Emit on a context without a transaction.
	// Nothing was stored or run.
	ErrNoTransaction = access.ErrNoTransaction
	// ErrEventConflict is returned by Emit for an identity that is already
	// stored with different data. Nothing was overwritten.
	ErrEventConflict = errors.New("the event identity is already stored with different data")
	// ErrDepth is returned by Emit when synchronous listeners emit to each
	// other more than MaxDepth levels deep.
	ErrDepth = errors.New("synchronous listeners nested too deeply")
	// ErrRebuild marks a stored event that cannot be rebuilt under today's
	// rules.
	ErrRebuild = errors.New("stored event cannot be rebuilt")
)

// MaxDepth is how deep emits may nest through synchronous listeners. Flows in
// real apps nest two or three deep; 32 levels are a recursion without an end.
const MaxDepth = 32
