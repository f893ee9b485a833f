package pgserver

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoBinaries says that no usable PostgreSQL installation was found. The
	// error around it lists every place looked at and what to install.
	ErrNoBinaries = errors.New("no PostgreSQL server binaries found")

	// ErrStopped says that the server was ended by Stop, for good.
	ErrStopped = errors.New("server was stopped")

	// ErrNotRunning says that there is no server process to act on.
	ErrNotRunning = errors.New("server is not running")

	// ErrInUse says that a live process already runs a server on the data
	// folder.
	ErrInUse = errors.New("data folder is in use")
)

// StartError is a server that did not come up. It quotes the end of the
// server's log, where PostgreSQL says why.
type StartError struct {
	Err     error  // what was seen from outside: exit status, deadline, last connection error
	LogTail string // last lines of the server log since this start; may be empty
	LogFile string // where the whole log is, empty if Config.Log took it or it was temporary
}

// Error implements error; it spans several lines when there is a log.
func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "start PostgreSQL: %v", e.Err)
	if e.LogTail != "" {
		fmt.Fprintf(&b, "\nend of the server log:\n\t%s", strings.ReplaceAll(e.LogTail, "\n", "\n\t"))
	}
	if e.LogFile != "" {
		fmt.Fprintf(&b, "\nwhole log: %s", e.LogFile)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *StartError) Unwrap() error { return e.Err }
