package access

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind tells what a declaration declares and what a handle reaches.
type Kind int

// The kinds of declarations.
const (
	KindUsecase Kind = iota + 1
	KindAction
	KindService
	KindEvent
	KindSyncListener
	KindDeferredListener
)

var kindNames = map[Kind]string{
	KindUsecase: "usecase", KindAction: "action", KindService: "service", KindEvent: "event",
	KindSyncListener: "synchronous listener", KindDeferredListener: "deferred listener",
}

// String returns the kind as the catalogue prints it.
func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Location is a place in the app's source.
type Location struct {
	File string
	Line int
}

// String returns folder/file:line, enough to find the place without the path
// of the machine that built the program.
func (l Location) String() string {
	if l.File == "" {
		return "unknown place"
	}
	return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(l.File)), filepath.Base(l.File), l.Line)
}

// Declaration is one declared usecase, action, service, event or listener.
// Declarations live in package variables that all apps of a process share:
// nothing changes one after it was made.
type Declaration struct {
	Kind     Kind
	Identity string
	// Source is where the app declares it, Function where the declared
	// function stands (zero for an event).
	Source, Function Location
	// Input is what the operation takes: an input, or the event of a listener,
	// or the event itself. Output is nil where there is none.
	Input, Output reflect.Type
	// Deps is the struct the kernel fills; nil for an event.
	Deps reflect.Type
	// Problems are what is wrong with the declaration by itself; they are
	// reported at boot, all together.
	Problems []error
}

// Declared is implemented by everything that an app declares.
type Declared interface {
	// Declaration returns the shared description; it must not be changed.
	Declaration() *Declaration
}

// Namespace returns the part of the identity before its last dot.
func (d *Declaration) Namespace() string {
	return d.Identity[:max(0, strings.LastIndexByte(d.Identity, '.'))]
}

// Name returns the part of the identity behind its last dot.
func (d *Declaration) Name() string {
	return d.Identity[strings.LastIndexByte(d.Identity, '.')+1:]
}

// String returns kind, identity and the place of the declaration.
func (d *Declaration) String() string {
	return fmt.Sprintf("%s %s (%s)", d.Kind, d.Identity, d.Source)
}

// Check returns everything wrong with the declaration by itself, or nil.
func (d *Declaration) Check() []error {
	errs := append([]error(nil), d.Problems...)
	if err := CheckIdentity(d.Identity); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, checkDeps(d.Deps)...)
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s: %w", d, err)
	}
	return errs
}

// CheckIdentity returns an error unless identity is a namespace and a name
// joined by a dot, such as example.delivery.StopMoved: the name is what stands
// behind the last dot; no part between dots is empty, begins with '@', begins
// or ends with a space, or holds a control character.
func CheckIdentity(identity string) error {
	if !utf8.ValidString(identity) {
		return fmt.Errorf("malformed identity %q: not valid UTF-8", identity)
	}
	parts := strings.Split(identity, ".")
	if len(parts) < 2 {
		return fmt.Errorf("malformed identity %q: want namespace.Name, such as example.delivery.StopMoved", identity)
	}
	for _, p := range parts {
		switch {
		case p == "":
			return fmt.Errorf("malformed identity %q: empty part", identity)
		case p[0] == '@':
			return fmt.Errorf("malformed identity %q: part %q begins with @, which is kept for technical names", identity, p)
		case strings.TrimSpace(p) != p:
			return fmt.Errorf("malformed identity %q: part %q begins or ends with a space", identity, p)
		case strings.ContainsFunc(p, unicode.IsControl):
			return fmt.Errorf("malformed identity %q: part %q holds a control character", identity, p)
		}
	}
	return nil
}

// Caller returns the place skip calls above its caller; 0 is who called the
// function that calls Caller.
func Caller(skip int) Location {
	_, file, line, ok := runtime.Caller(skip + 2)
	if !ok {
		return Location{}
	}
	return Location{file, line}
}

// FunctionLocation returns where the function fn is written.
func FunctionLocation(fn any) Location {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func || v.IsNil() {
		return Location{}
	}
	f := runtime.FuncForPC(v.Pointer())
	if f == nil {
		return Location{}
	}
	file, line := f.FileLine(f.Entry())
	return Location{file, line}
}

// ErrNilFunction is the problem of a declaration without a function.
var ErrNilFunction = errors.New("declared with a nil function")
