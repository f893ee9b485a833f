package persistence

import (
	"fmt"
	"path/filepath"
	"runtime"

	"go.uber.org/fx"

	"github.com/tidings-go/tidings/persistence/mapping"
)

// Mapping is the fx option of a codec or an enum. It stands among the options of
// a kernel.Module, before or after the events that use it: the kernel collects
// all of an app when it is assembled. It is immutable; two apps of one process
// may store a type in two ways.
type Mapping struct {
	fx.Option
	// Registration is what is registered.
	Registration mapping.Registration
}

// String names the registration in fx's own output.
func (m Mapping) String() string { return fmt.Sprintf("tidings.Mapping(%s)", m.Registration) }

type mappingOut struct {
	fx.Out
	Registration mapping.Registration `group:"tidings.mappings"`
}

// MappingsIn receives all registrations of an app, in no order.
type MappingsIn struct {
	fx.In
	Registrations []mapping.Registration `group:"tidings.mappings"`
}

// Codec has values of T, a value object with unexported fields, stored as what
// out returns, and rebuilt by in, their constructor: an error of it, or a panic,
// means that the stored value is not valid under today's rules. The columns are
// those of R, which may be anything that can be mapped, also with other codecs:
//
//	persistence.Codec(Address.row, newAddress)
//
// At emit a value that in would not take back, or whose representation then
// differs, is refused before anything is written. Neither function may change
// what it is given; both may run in several goroutines at once. A second codec or
// enum of the type in one app is reported at boot.
func Codec[T, R any](out func(T) R, in func(R) (T, error)) Mapping {
	return registered(mapping.Codec(out, in), caller())
}

// Enum has values of T, a named string or integer type, stored as the texts in
// codes, held by a check of the column; a value without a code is refused at
// emit. Stored rows know the codes alone: constants may be renamed and
// renumbered, codes may not. To add or remove one is a change of the schema.
//
//	persistence.Enum(map[Color]string{Red: "red", Green: "green"})
func Enum[T mapping.Code](codes map[T]string) Mapping {
	return registered(mapping.Enum(codes), caller())
}

func registered(r mapping.Registration, source string) Mapping {
	r.Source = source
	return Mapping{Registration: r, Option: fx.Provide(func() mappingOut { return mappingOut{Registration: r} })}
}

// caller is the place of the call of the exported function above it.
func caller() string {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return "unknown place"
	}
	return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), line)
}
