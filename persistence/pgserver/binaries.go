package pgserver

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MinMajor is the oldest PostgreSQL that Find accepts.
const MinMajor = 14

// binEnv names the folder of the binaries and ends the search.
const binEnv = "TIDINGS_PG_BIN"

// Binaries is a found PostgreSQL installation.
type Binaries struct {
	Dir   string // folder of initdb, postgres and pg_ctl, symlinks resolved
	Major int    // major version, such as 15
}

// Find looks for PostgreSQL server binaries of version 14 or newer: in the
// folder that $TIDINGS_PG_BIN names (then nowhere else; the value "fetch" names
// none, see Config.Fetch), at PATH's initdb and
// pg_config, then in the usual places of the operating system, newest version
// first. Symlinks are resolved, so that a link such as /usr/local/bin/postgres
// leads to the whole installation.
//
// The error wraps ErrNoBinaries, names every place looked at with what was
// wrong there, and says what to install. Find runs `postgres --version` of the
// candidates, about 10 ms each, and is safe for concurrent use.
func Find() (Binaries, error) { return find(0) }

// find is Find for one major version; zero takes any.
func find(major int) (Binaries, error) {
	var looked []string
	try := func(dirs []string) (found []Binaries) {
		for _, dir := range dirs {
			b, err := inspect(dir)
			if err == nil && major != 0 && b.Major != major {
				err = fmt.Errorf("is version %d, need %d", b.Major, major)
			}
			if err != nil {
				looked = append(looked, fmt.Sprintf("%s: %v", dir, err))
				continue
			}
			found = append(found, b)
		}
		slices.SortStableFunc(found, func(a, b Binaries) int { return cmp.Compare(b.Major, a.Major) })
		return found
	}
	if dir := os.Getenv(binEnv); dir == fetchedOnly {
		return Binaries{}, notFound([]string{"nothing"}, major, "$"+binEnv+"="+fetchedOnly+" asks for fetched ones only")
	} else if dir != "" {
		if found := try([]string{dir}); len(found) > 0 {
			return found[0], nil
		}
		return Binaries{}, notFound(looked, major, "$"+binEnv+" is set, so nothing else was tried")
	}
	for _, step := range []func() ([]string, []string){initdbDirs, configDirs, usualDirs} {
		dirs, notes := step()
		looked = append(looked, notes...)
		if found := try(dirs); len(found) > 0 {
			return found[0], nil
		}
	}
	return Binaries{}, notFound(looked, major, "set $"+binEnv+" to the folder of initdb and postgres if it is elsewhere")
}

func notFound(looked []string, major int, hint string) error {
	version := fmt.Sprintf("%d or newer", MinMajor)
	if major != 0 {
		version = strconv.Itoa(major)
	}
	return fmt.Errorf("%w (version %s)\nlooked at:\n\t%s\n%s\n%s",
		ErrNoBinaries, version, strings.Join(looked, "\n\t"), hint, installHint(runtime.GOOS))
}

func installHint(goos string) string {
	switch goos {
	case "darwin":
		return "install: brew install postgresql@17, or Postgres.app from https://postgresapp.com"
	case "windows":
		return "install: winget install PostgreSQL.PostgreSQL.17, or scoop install postgresql"
	default:
		return "install: apt-get install postgresql (Debian, Ubuntu), dnf install postgresql-server (Fedora, RHEL), " +
			"apk add postgresql17 (Alpine), pacman -S postgresql (Arch)"
	}
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspect checks that dir holds a whole server installation and asks its
// version.
func inspect(dir string) (Binaries, error) {
	for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
		if info, err := os.Stat(filepath.Join(dir, exe(name))); err != nil || info.IsDir() {
			return Binaries{}, fmt.Errorf("no %s there", exe(name))
		}
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(dir, exe("postgres")))
	if err != nil {
		return Binaries{}, err
	}
	if resolved, err = filepath.Abs(resolved); err != nil {
		return Binaries{}, err
	}
	if home := filepath.Dir(resolved); fileExists(filepath.Join(home, exe("initdb"))) {
		dir = home
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, resolved, "--version").CombinedOutput()
	if err != nil {
		return Binaries{}, fmt.Errorf("postgres --version: %w", err)
	}
	match := versionText.FindSubmatch(out)
	if match == nil {
		return Binaries{}, fmt.Errorf("postgres --version says %q", strings.TrimSpace(string(out)))
	}
	major, err := strconv.Atoi(string(match[1]))
	if err != nil {
		return Binaries{}, err
	}
	if major < MinMajor {
		return Binaries{}, fmt.Errorf("is version %d, need %d or newer", major, MinMajor)
	}
	return Binaries{Dir: dir, Major: major}, nil
}

func (b Binaries) path(name string) string { return filepath.Join(b.Dir, exe(name)) }

// exe is the file name of a program.
func exe(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
