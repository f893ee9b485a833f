package usecase

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
)

// Option sets a property of a declared usecase or service. What is wrong with it
// is reported at boot.
type Option func(*Definition) error

// Validate has check run on every input before the operation, and before a
// transaction is opened for it. Its error is returned to the caller wrapped in
// ErrInvalid. The input type of check must be the operation's.
func Validate[In any](check func(In) error) Option {
	return func(d *Definition) error {
		if check == nil {
			return errors.New("usecase.Validate with a nil function")
		}
		if in := reflect.TypeFor[In](); in != d.decl.Input {
			return fmt.Errorf("usecase.Validate checks %v, but the input is %v", in, d.decl.Input)
		}
		d.checks = append(d.checks, func(in any) error { return check(as[In](in)) })
		return nil
	}
}

// ReadOnly declares that the usecase only reads: its transaction is read-only,
// a write is refused by PostgreSQL and an emit by the kernel. Called inside
// another usecase it joins that one's transaction whatever it may do.
func ReadOnly() Option {
	return func(d *Definition) error {
		if d.decl.Kind == access.KindService {
			return errors.New("usecase.ReadOnly: a service opens no transaction")
		}
		d.tx.ReadOnly = true
		return nil
	}
}

// Isolation sets the isolation level of the transaction; default is the
// database's, usually READ COMMITTED. Called inside a usecase whose transaction
// is less strict it returns persistence.ErrIncompatible.
func Isolation(level sql.IsolationLevel) Option {
	return func(d *Definition) error {
		if d.decl.Kind == access.KindService {
			return errors.New("usecase.Isolation: a service opens no transaction")
		}
		if !persistence.HasIsolation(level) {
			return fmt.Errorf("usecase.Isolation: PostgreSQL has no isolation level %s", level)
		}
		d.tx.Isolation = level
		return nil
	}
}

// Definition is a declared usecase, action or service. It is immutable and
// shared by all apps of a process.
type Definition struct {
	decl   access.Declaration
	tx     persistence.TxOptions
	checks []func(any) error
	run    func(ctx ctx, deps, in any, tx access.Tx) (any, error)

	retries   int
	copyInput func(any) any
}

// Declaration describes the definition; it must not be changed.
func (d *Definition) Declaration() *access.Declaration { return &d.decl }

// Transaction returns what the operation asks of its transaction.
func (d *Definition) Transaction() persistence.TxOptions { return d.tx }
