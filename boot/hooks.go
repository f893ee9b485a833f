package boot

import (
	"context"
	"errors"
	"sync"

	"go.uber.org/fx"
)

// Hooks wraps an app's fx.Lifecycle so that one more thing starts after all of
// the app's own OnStart hooks and stops before all of their OnStop hooks,
// wherever in the app they are appended: fx runs hooks in the order of Append,
// which depends on the order of constructors, so the last hook carries it.
type Hooks struct {
	real fx.Lifecycle

	mu    sync.Mutex
	count int
	start func(context.Context) error
	stop  func(context.Context) error
}

var _ fx.Lifecycle = (*Hooks)(nil)

// NewHooks returns hooks on top of the app's lifecycle.
func NewHooks(lc fx.Lifecycle) *Hooks { return &Hooks{real: lc} }

// Last sets what starts last and stops first. It is called once, before the app
// starts.
func (h *Hooks) Last(start, stop func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.start, h.stop = start, stop
}

// Append adds a hook of the app.
func (h *Hooks) Append(hook fx.Hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	index := h.count
	h.count++
	h.real.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			if err := run(ctx, hook.OnStart); err != nil {
				return err
			}
			start, _ := h.carried(index)
			if err := run(ctx, start); err != nil {
				// fx calls no OnStop of a hook whose OnStart failed.
				return errors.Join(err, run(ctx, hook.OnStop))
			}
			return nil
		},
		OnStop: func(ctx context.Context) error {
			_, stop := h.carried(index)
			return errors.Join(run(ctx, stop), run(ctx, hook.OnStop))
		},
	})
}

// carried returns what the hook carries beside its own: something if it is the
// last one.
func (h *Hooks) carried(index int) (start, stop func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index != h.count-1 {
		return nil, nil
	}
	return h.start, h.stop
}

func run(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}
