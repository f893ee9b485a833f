package mapping

import (
	"fmt"
	"reflect"
	"unsafe"
)

type validator interface{ Validate() error }

var validatorType = reflect.TypeFor[validator]()

// validation says whether a type, or the pointer to it, has Validate() error.
type validation bool

func validationOf(t reflect.Type) validation {
	return validation(reflect.PointerTo(t).Implements(validatorType))
}

// run calls Validate on an addressable value; *T has the methods of T too. A
// panic in it is a complaint: it must not take a worker down.
func (has validation) run(at place, w *walk, v reflect.Value, problems []error) (all []error) {
	if !has {
		return problems
	}
	defer func() {
		if cause := recover(); cause != nil {
			all = append(problems, at.complaint(w, fmt.Errorf("panic in Validate: %v", cause)))
		}
	}()
	if err := pointer(v).(validator).Validate(); err != nil {
		return append(problems, at.complaint(w, err))
	}
	return problems
}

func (p place) complaint(w *walk, err error) error {
	return p.problem(w.at(p.path), w.kind, err, "")
}

// pointer returns the address of v as a *T, also for the field that embeds an
// unexported struct, which reflect would not hand out.
func pointer(v reflect.Value) any {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Interface()
}
