package usecase

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
)

// ErrInvalid is returned for an input that a Validate check refused; it wraps
// the check's error. No transaction was opened and nothing was run.
var ErrInvalid = errors.New("invalid input")

// Target returns what a handle of the definition reaches.
func (d *Definition) Target() access.Target {
	return access.Target{Kind: d.decl.Kind, Type: d.decl.Input}
}

// Operation returns the definition as the runtime of one app delivers it: with
// validation, transaction and identity around the declared function.
func (d *Definition) Operation(db *persistence.Database, deps any) access.Operation {
	deliver := d.required
	if d.decl.Kind == access.KindService {
		deliver = d.supports
	}
	if d.retries > 0 {
		deliver = d.retryingOwner
	}
	return func(ctx context.Context, in any) (out any, err error) {
		if err = d.validate(in); err == nil {
			out, err = deliver(ctx, db, deps, in)
		}
		if err != nil {
			return nil, access.Identify(&d.decl, err)
		}
		return out, nil
	}
}

func (d *Definition) validate(in any) error {
	for _, check := range d.checks {
		if err := access.Protect(func() error { return check(in) }); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return nil
}

// required runs the function in the caller's transaction or one of its own.
func (d *Definition) required(ctx context.Context, db *persistence.Database, deps, in any) (out any, err error) {
	err = db.Required(ctx, d.tx, func(ctx context.Context, t *persistence.Transaction) error {
		return access.Protect(func() (err error) {
			out, err = d.run(ctx, deps, in, t)
			return err
		})
	})
	return out, err
}

// supports runs the function in the caller's transaction, if there is one.
func (d *Definition) supports(ctx context.Context, db *persistence.Database, deps, in any) (out any, err error) {
	var tx access.Tx = noTransaction{}
	t, joined := db.Current(ctx)
	returned := false
	if joined {
		tx = t
		defer func() {
			if !returned {
				t.SetRollbackOnly(errors.New("a service ended its goroutine"))
			}
		}()
	}
	err = access.Protect(func() (err error) {
		out, err = d.run(ctx, deps, in, tx)
		return err
	})
	returned = true
	var p *access.PanicError
	if joined && errors.As(err, &p) {
		t.SetRollbackOnly(err)
	}
	return out, err
}
