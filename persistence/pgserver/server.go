package pgserver

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
)

const (
	loopback    = "127.0.0.1"
	defaultPort = 5432 // names the socket where there is no TCP; folders are private, so they never clash
)

// Server is a PostgreSQL server that this process started. All methods are safe
// for concurrent use; those that change its state wait for each other.
type Server struct {
	config   Config // Binaries and DataDir resolved
	account  *account
	run      *runDir
	data     string
	dataLock *fileLock // of a kept data folder
	log      *serverLog
	port     int
	tcp      bool

	turn    chan struct{}           // held by the state change under way
	current atomic.Pointer[process] // the last run; nil before the first
	stopped bool                    // guarded by turn
}

// Start starts a server and returns when it accepts connections. ctx bounds the
// start only (DefaultStartTimeout without a deadline); its later end does not
// stop the server: call Stop.
//
// Errors: ErrNoBinaries (with a *FetchError where fetching was tried), ErrInUse, a *StartError that quotes the server's log,
// or a description of the folder, setting or user that does not fit. After an
// error nothing is left running or on disk, but for a kept data folder.
func Start(ctx context.Context, c Config) (*Server, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("pgserver: %w", err)
	}
	var err error
	if c.Binaries, err = c.orFetched(ctx); err != nil {
		return nil, fmt.Errorf("pgserver: %w", err)
	}
	ctx, cancel := withStartTimeout(ctx)
	defer cancel()
	s := &Server{config: c, turn: make(chan struct{}, 1), port: c.Port, tcp: c.Port != 0}
	if runtime.GOOS == "windows" && c.Port == 0 {
		s.port, s.tcp = -1, true
	}
	if err := s.prepare(ctx); err != nil {
		s.discard()
		return nil, fmt.Errorf("pgserver: %w", err)
	}
	if err := s.launchOnFreePort(ctx); err != nil {
		s.discard()
		return nil, fmt.Errorf("pgserver: %w", err)
	}
	return s, nil
}

// prepare finds binaries and user, and makes the folders.
func (s *Server) prepare(ctx context.Context) error {
	c := &s.config
	if c.DataDir != "" {
		dir, err := filepath.Abs(c.DataDir)
		if err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
		c.DataDir = dir
	}
	var err error
	if s.account, err = chooseAccount(c.DataDir); err != nil {
		return err
	}
	if c.Binaries, err = c.binaries(); err != nil {
		return err
	}
	if err := s.account.checkEnter(c.Binaries.Dir); err != nil {
		return err
	}
	if s.run, err = newRunDir(c.TempDir, s.account); err != nil {
		return err
	}
	if err := s.prepareData(ctx); err != nil {
		return err
	}
	if err := s.openServerLog(); err != nil {
		return err
	}
	return s.account.own(s.run.path)
}

func (s *Server) prepareData(ctx context.Context) error {
	if s.kept() {
		s.data = s.config.DataDir
		return s.openDataDir(ctx)
	}
	s.data = filepath.Join(s.run.path, "data")
	if err := os.Mkdir(s.data, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	return s.fill(ctx)
}

func (s *Server) openServerLog() error {
	s.log = &serverLog{user: s.config.Log}
	if s.config.Log != nil {
		return nil
	}
	path := s.logPath()
	if s.kept() {
		_ = os.Rename(path, path+".old") // there may be none
	}
	file, err := openLog(path)
	if err != nil {
		return fmt.Errorf("open server log: %w", err)
	}
	s.log.file = file
	return nil
}

func (s *Server) logPath() string {
	if s.kept() {
		return filepath.Join(s.data, logName)
	}
	return filepath.Join(s.run.path, logName)
}

func (s *Server) kept() bool { return s.config.DataDir != "" }

// binaries resolves Config.Binaries.
func (c Config) binaries() (Binaries, error) {
	if c.Binaries.Dir != "" {
		found, err := inspect(c.Binaries.Dir)
		if err != nil {
			return Binaries{}, fmt.Errorf("binaries in %s: %w", c.Binaries.Dir, err)
		}
		return found, nil
	}
	if c.DataDir != "" {
		if major, err := dataMajor(c.DataDir); err == nil && major >= MinMajor {
			return find(major)
		}
	}
	return Find()
}

// URL is the address of a database for lib/pq and pgx: superuser postgres,
// sslmode=disable, timezone=UTC, over the unix socket where there is one, else
// over TCP. It stays valid across Crash and Restart. lib/pq's URLs cannot hold a
// socket folder in the host part, so it stands in the query, which libpq, lib/pq
// and pgx all read.
func (s *Server) URL(database string) string {
	if s.SocketDir() == "" {
		return s.TCPURL(database)
	}
	return s.address("", database, url.Values{"host": {s.SocketDir()}, "port": {strconv.Itoa(s.port)}})
}

// TCPURL is URL over TCP on 127.0.0.1; empty if the server does not listen
// there.
func (s *Server) TCPURL(database string) string {
	if !s.tcp {
		return ""
	}
	return s.address(loopback+":"+strconv.Itoa(s.port), database, url.Values{})
}

func (s *Server) address(host, database string, query url.Values) string {
	query.Set("sslmode", "disable")
	query.Set("timezone", "UTC")
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: host, Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

// SocketDir is the folder of the unix socket, mode 0700; empty on Windows.
func (s *Server) SocketDir() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return s.run.path
}

// Port is the port: of TCP where the server listens there, and in any case the
// number in the socket's name (5432 without TCP).
func (s *Server) Port() int { return s.port }

// PID is the postmaster's process id, 0 while the server is not running.
func (s *Server) PID() int {
	if p := s.current.Load(); p != nil && !p.exited() {
		return p.pid()
	}
	return 0
}

// DataDir is the data folder; after Stop a temporary one is gone.
func (s *Server) DataDir() string { return s.data }

// Binaries is the installation in use.
func (s *Server) Binaries() Binaries { return s.config.Binaries }

// LogFile is the path of the server's log, empty if Config.Log takes it.
func (s *Server) LogFile() string {
	if s.config.Log != nil {
		return ""
	}
	return s.logPath()
}
