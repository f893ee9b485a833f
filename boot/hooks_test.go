package boot_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/boot"
)

// lifecycle runs hooks as fx does: OnStop of those alone whose OnStart went well.
type lifecycle struct{ hooks []fx.Hook }

func (l *lifecycle) Append(h fx.Hook) { l.hooks = append(l.hooks, h) }

func (l *lifecycle) start() (started int, err error) {
	for i, h := range l.hooks {
		if err := h.OnStart(context.Background()); err != nil {
			return i, err
		}
	}
	return len(l.hooks), nil
}

func (l *lifecycle) stop(started int) error {
	var errs []error
	for i := started - 1; i >= 0; i-- {
		errs = append(errs, l.hooks[i].OnStop(context.Background()))
	}
	return errors.Join(errs...)
}

type journal []string

func (j *journal) note(text string, err error) func(context.Context) error {
	return func(context.Context) error {
		*j = append(*j, text)
		return err
	}
}

var errHook = errors.New("hook")

func TestTheLastStartsAfterAllHooksAndStopsBeforeThem(t *testing.T) {
	t.Parallel()
	var j journal
	real := &lifecycle{}
	h := boot.NewHooks(real)
	h.Append(fx.Hook{OnStart: j.note("start 1", nil), OnStop: j.note("stop 1", nil)})
	h.Last(j.note("start last", nil), j.note("stop last", nil))
	h.Append(fx.Hook{})
	h.Append(fx.Hook{OnStart: j.note("start 2", nil), OnStop: j.note("stop 2", nil)})
	started, err := real.start()
	require.NoError(t, err)
	require.NoError(t, real.stop(started))
	require.Equal(t, journal{"start 1", "start 2", "start last", "stop last", "stop 2", "stop 1"}, j)
}

func TestALastThatFailsToStartLeavesNoHookWithoutItsStop(t *testing.T) {
	t.Parallel()
	var j journal
	real := &lifecycle{}
	h := boot.NewHooks(real)
	h.Last(j.note("start last", errHook), j.note("stop last", nil))
	h.Append(fx.Hook{OnStart: j.note("start 1", nil), OnStop: j.note("stop 1", nil)})
	h.Append(fx.Hook{OnStart: j.note("start 2", nil), OnStop: j.note("stop 2", nil)})
	started, err := real.start()
	require.ErrorIs(t, err, errHook)
	require.NoError(t, real.stop(started))
	require.Equal(t, journal{"start 1", "start 2", "start last", "stop 2", "stop 1"}, j)
}

func TestAHookThatFailsKeepsTheLastFromStarting(t *testing.T) {
	t.Parallel()
	var j journal
	real := &lifecycle{}
	h := boot.NewHooks(real)
	h.Last(j.note("start last", nil), j.note("stop last", nil))
	h.Append(fx.Hook{OnStart: j.note("start 1", nil), OnStop: j.note("stop 1", nil)})
	h.Append(fx.Hook{OnStart: j.note("start 2", errHook), OnStop: j.note("stop 2", nil)})
	started, err := real.start()
	require.ErrorIs(t, err, errHook)
	require.NoError(t, real.stop(started))
	require.Equal(t, journal{"start 1", "start 2", "stop 1"}, j)
}

func TestAFailedStopOfTheLastKeepsNoHookFromStopping(t *testing.T) {
	t.Parallel()
	var j journal
	real := &lifecycle{}
	h := boot.NewHooks(real)
	h.Last(j.note("start last", nil), j.note("stop last", errHook))
	h.Append(fx.Hook{OnStop: j.note("stop 1", errors.New("another"))})
	started, err := real.start()
	require.NoError(t, err)
	err = real.stop(started)
	require.ErrorIs(t, err, errHook)
	require.ErrorContains(t, err, "another")
	require.Equal(t, journal{"start last", "stop last", "stop 1"}, j)
}
