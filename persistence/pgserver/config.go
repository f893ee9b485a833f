package pgserver

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultStartTimeout bounds Start and Restart where their context has no
// deadline. A normal start takes under a second; crash recovery of a large kept
// data folder can take long, then pass a deadline of your own.
const DefaultStartTimeout = 60 * time.Second

// Config says what server to run. The zero value is a server for tests:
// binaries found, temporary data, nothing durable, unix socket only.
type Config struct {
	// Binaries is the installation to use. Zero: Find(), or, for an existing
	// DataDir, an installation of the major version that made it. A Dir without
	// Major has its version asked.
	Binaries Binaries

	// Fetch allows Start to fetch binaries where none is found, of the major
	// version that made an existing DataDir. Nil: only $TIDINGS_PG_BIN=fetch
	// allows that. The time of a fetch is bounded by Start's context alone.
	Fetch *FetchConfig

	// DataDir is the data folder (PGDATA). Empty: a temporary one, removed by
	// Stop; those left by killed parents are removed at a later start. Set: made
	// if missing, kept and reused; one live server at a time, else ErrInUse. A
	// start waits for the server of a killed parent to finish its shutdown.
	DataDir string

	// TempDir is where the server's temporary folder (socket, temporary data) is
	// made. Empty: $TIDINGS_PG_TMP, else the first that fits of os.TempDir(),
	// /tmp and /var/tmp. A memory file system such as /dev/shm makes starts and
	// CREATE DATABASE several times faster than a busy ext4, which searches long
	// for free inodes after many deletions (measured: 1.4 ms per file).
	TempDir string

	// Durable keeps PostgreSQL's durability. Default false: fsync and
	// full_page_writes are off. Commits then survive Crash and a kill of any
	// process, but not a crash of the machine. synchronous_commit stays on: off,
	// Crash loses the commits of the last moments (tried), so that a fault test
	// would see acknowledged work vanish; beside fsync=off it costs next to
	// nothing.
	Durable bool

	// Settings are further server settings by name, such as
	// "max_connections": "200". They apply to this run and are not written to
	// the data folder. The ones this package sets itself to find the server
	// again (port, listen_addresses, unix_socket_directories, data_directory,
	// logging_collector, log_destination) are refused.
	Settings map[string]string

	// Port: 0 means unix socket only (on Windows: as -1). A positive number
	// means TCP on 127.0.0.1 as well, at that port; -1 at a free one.
	Port int

	// Log receives the server's log; it must not block for long, or the server
	// does. Default nil: a file server.log in the data folder (kept) or the
	// temporary folder. In both cases start errors quote its end.
	Log io.Writer

	// guards is for tests: which lines of defence against a dying parent are up.
	guards guards
}

// guards switches off lines of defence, so that a test sees each work alone.
type guards struct{ noDeathSignal, noWatcher bool }

var settingName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.]*$`)

var ownSettings = []string{
	"data_directory", "listen_addresses", "log_destination", "logging_collector",
	"port", "unix_socket_directories",
}

func (c Config) validate() error {
	var errs []error
	for name, value := range c.Settings {
		switch {
		case !settingName.MatchString(name):
			errs = append(errs, fmt.Errorf("setting %q is not a name", name))
		case slices.Contains(ownSettings, strings.ToLower(name)):
			errs = append(errs, fmt.Errorf("setting %q is set by pgserver itself", name))
		case strings.ContainsRune(value, 0):
			errs = append(errs, fmt.Errorf("value of setting %q contains a NUL byte", name))
		}
	}
	if c.Port < -1 || c.Port > 65535 {
		errs = append(errs, fmt.Errorf("port %d is not -1, 0 or a port number", c.Port))
	}
	return errors.Join(errs...)
}

// arguments are the command line of postgres: own settings last, so that they
// win.
func (s *Server) arguments() []string {
	var settings [][2]string
	add := func(name, value string) { settings = append(settings, [2]string{name, value}) }
	add("timezone", "UTC")
	add("log_timezone", "UTC")
	if !s.config.Durable {
		add("fsync", "off")
		add("full_page_writes", "off")
	}
	names := make([]string, 0, len(s.config.Settings))
	for name := range s.config.Settings {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		add(name, s.config.Settings[name])
	}
	listen := ""
	if s.tcp {
		listen = loopback
	}
	add("listen_addresses", listen)
	add("port", strconv.Itoa(s.port))
	add("unix_socket_directories", s.SocketDir())
	add("logging_collector", "off")
	add("log_destination", "stderr")

	arguments := []string{"-D", s.data}
	for _, setting := range settings {
		arguments = append(arguments, "-c", setting[0]+"="+setting[1])
	}
	return arguments
}
