package usecase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
)

// Waits between the tries of RetryConflicts: long enough for the other
// transaction to end, short beside what a caller notices.
const (
	retryFirst = 5 * time.Millisecond
	retryMax   = 200 * time.Millisecond
)

// RetryConflicts has the usecase run again, up to retries times, after a
// serialization failure (40001) or a deadlock (40P01) rolled its transaction
// back; default is none, for the kernel cannot know what else a usecase did.
// Every try gets a transaction of its own and a fresh copy of the input; what an
// earlier one emitted is gone with its transaction, and so is what should have
// run after its commit. It works where the usecase owns the transaction: inside
// another one it is the owner that retries. An input that cannot be copied (an
// unexported field with a pointer, a slice or a map in it; an interface, a
// function, a channel) is refused at boot.
func RetryConflicts(retries int) Option {
	return func(d *Definition) error {
		if d.decl.Kind == access.KindService {
			return errors.New("usecase.RetryConflicts: a service opens no transaction")
		}
		if retries < 1 {
			return fmt.Errorf("usecase.RetryConflicts(%d): want at least 1", retries)
		}
		copier, err := newCopier(d.decl.Input)
		if err != nil {
			return fmt.Errorf("usecase.RetryConflicts: %w", err)
		}
		d.retries, d.copyInput = retries, copier
		return nil
	}
}

// retryingOwner runs the usecase again after a conflict, where it owns its
// transaction; a participant leaves that to the owner.
func (d *Definition) retryingOwner(ctx context.Context, db *persistence.Database, deps, in any) (any, error) {
	if _, joins := db.Current(ctx); joins {
		return d.required(ctx, db, deps, in)
	}
	waits := backoff.WithMaxRetries(backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(retryFirst), backoff.WithMaxInterval(retryMax), backoff.WithMaxElapsedTime(0),
	), uint64(d.retries))
	return backoff.RetryWithData(func() (any, error) {
		out, err := d.required(ctx, db, deps, d.copyInput(in))
		if err != nil && !persistence.IsRetryable(err) {
			return nil, backoff.Permanent(err)
		}
		return out, err
	}, backoff.WithContext(waits, ctx))
}

// ConflictRetries returns how often the operation runs again after a conflict.
func (d *Definition) ConflictRetries() int { return d.retries }
