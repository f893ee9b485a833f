package migrate

import "errors"

var (
	// ErrChain is wrapped where the snapshots of a folder are no chain: forked,
	// edited, or with a file missing.
	ErrChain = errors.New("the snapshots in the migrations folder are no chain")
	// ErrForce is wrapped where a candidate is destructive and force was not
	// given. Nothing was written.
	ErrForce = errors.New("the migration is destructive")
	// ErrName is wrapped where a candidate's name is none.
	ErrName = errors.New("a candidate's name is of lower-case letters, digits and _")
)
