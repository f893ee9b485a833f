package kernel

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatTakesLongSaysSo(t *testing.T) {
	t.Parallel()
	err := errors.New("its error")
	var quiet bytes.Buffer
	require.ErrorIs(t, progress(&quiet, "working", func() error { return err }), err)
	require.Empty(t, quiet.String())
	told, tells := io.Pipe()
	require.NoError(t, progress(tells, "working", func() error {
		line := make([]byte, 100)
		n, err := told.Read(line) // waits until it says something
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(line[:n]), "working … 2s"), "%s", line[:n])
		return nil
	}))
}
