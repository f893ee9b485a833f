package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

// ErrDeclarations is what a boot fails with whose declarations do not fit. It
// wraps every problem found.
var ErrDeclarations = errors.New("the app's declarations do not fit together")

// check reports everything wrong with the declarations, together.
func check(in access.DeclaredIn, graph fx.DotGraph, c *kernel) error {
	k := newChecker(in.Declared, parseGraph(string(graph)))
	k.flows(in.Declared)
	for _, d := range k.all {
		k.report(d.Check()...)
		k.uses(d)
		k.listens(d)
		k.report(k.graph.missing(d)...)
	}
	k.duplicates()
	k.hooks(in.Lifecycles)
	k.report(c.plans.Check(eventTypes(in.Declared))...)
	if len(k.errs) == 0 {
		k.report(c.checkModel(in.Declared))
	}
	if len(k.errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w:\n%w", ErrDeclarations, errors.Join(k.errs...))
}

type checker struct {
	all     []*access.Declaration
	targets map[access.Target]bool
	graph   graph
	errs    []error
}

func newChecker(declared []access.Declared, g graph) *checker {
	k := &checker{targets: map[access.Target]bool{}, graph: g}
	for _, d := range declared {
		k.all = append(k.all, d.Declaration())
	}
	slices.SortFunc(k.all, byPlace)
	for _, d := range k.all {
		k.targets[access.Target{Kind: d.Kind, Type: d.Input}] = true
	}
	return k
}

// byPlace orders declarations by where they stand.
func byPlace(a, b *access.Declaration) int {
	return cmp.Or(cmp.Compare(a.Source.File, b.Source.File), cmp.Compare(a.Source.Line, b.Source.Line),
		cmp.Compare(a.Identity, b.Identity))
}

func (k *checker) report(errs ...error) {
	for _, err := range errs {
		if err != nil {
			k.errs = append(k.errs, err)
		}
	}
}

// duplicates reports identities, and inputs of operations, that are declared
// more than once.
func (k *checker) duplicates() {
	identities := map[string]*access.Declaration{}
	inputs := map[access.Target]*access.Declaration{}
	for _, d := range k.all {
		if first, ok := identities[d.Identity]; ok {
			k.report(fmt.Errorf("%s: its identity is already that of the %s", d, first))
		} else {
			identities[d.Identity] = d
		}
		var t access.Target
		switch d.Kind {
		case access.KindUsecase, access.KindAction:
			t = access.Target{Kind: access.KindUsecase, Type: d.Input}
		case access.KindService, access.KindEvent:
			t = access.Target{Kind: d.Kind, Type: d.Input}
		default:
			continue
		}
		if first, ok := inputs[t]; ok {
			k.report(fmt.Errorf("%s: its type %v is already that of the %s: give it a type of its own", d, d.Input, first))
		} else {
			inputs[t] = d
		}
	}
}

// uses reports what an operation may call or emit and nothing declares.
func (k *checker) uses(d *access.Declaration) {
	for _, u := range access.Uses(d.Deps) {
		if !u.Optional && !k.targets[u.Target] {
			k.report(fmt.Errorf("%s: field %s of its Deps: nothing declares the %s", d, u.Field, u.Target))
		}
	}
}

// hooks reports a kernel that does not see the hooks of the whole app: fx lets a
// module decorate the lifecycle for its own scope alone.
func (k *checker) hooks(lifecycles []fx.Lifecycle) {
	for _, lc := range lifecycles {
		if _, ok := lc.(*boot.Hooks); !ok {
			k.report(errors.New("kernel.Options stands inside an fx.Module: delivery could then not start after all " +
				"OnStart hooks of the app and stop before all OnStop hooks; put it among the options of fx.New itself"))
			return
		}
	}
}

func (k *checker) listens(d *access.Declaration) {
	if d.Kind != access.KindSyncListener && d.Kind != access.KindDeferredListener {
		return
	}
	if !k.targets[access.Target{Kind: access.KindEvent, Type: d.Input}] {
		k.report(fmt.Errorf("%s: listens to %v, which nothing declares as an event", d, d.Input))
	}
}

// flows reports operations that call a usecase which asks for more than their own
// transaction has: whenever they own it, the call would fail.
func (k *checker) flows(declared []access.Declared) {
	asks := map[access.Target]*usecase.Definition{}
	for _, d := range declared {
		if u, ok := d.(*usecase.Definition); ok && d.Declaration().Kind != access.KindService {
			asks[u.Target()] = u
		}
	}
	for _, d := range declared {
		var owns persistence.TxOptions
		switch d := d.(type) {
		case *usecase.Definition:
			if d.Declaration().Kind == access.KindService {
				continue // runs in its caller's
			}
			owns = d.Transaction()
		case *events.Listener:
			if !d.IsDeferred() {
				continue // runs in the publisher's
			}
			owns.Isolation = d.Policy().Isolation
		}
		for _, u := range access.Uses(d.Declaration().Deps) {
			if called, ok := asks[u.Target]; ok {
				if err := owns.Offers(called.Transaction()); err != nil {
					k.report(fmt.Errorf("%s: field %s of its Deps calls the %s: %w", d.Declaration(), u.Field, called.Declaration(), err))
				}
			}
		}
	}
}

var handleType = reflect.TypeFor[access.Handle]()
