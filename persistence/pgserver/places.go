package pgserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// initdbDirs is the folder to which PATH's initdb leads, or a note.
func initdbDirs() (dirs, notes []string) {
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return nil, []string{"PATH: no initdb"}
	}
	resolved, err := filepath.EvalSymlinks(initdb)
	if err != nil {
		return nil, []string{fmt.Sprintf("%s: %v", initdb, err)}
	}
	return []string{filepath.Dir(resolved)}, nil
}

// configDirs is the folder that PATH's pg_config names, or a note.
func configDirs() (dirs, notes []string) {
	config, err := exec.LookPath("pg_config")
	if err != nil {
		return nil, []string{"PATH: no pg_config"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, config, "--bindir").Output()
	if err != nil {
		return nil, []string{fmt.Sprintf("%s --bindir: %v", config, err)}
	}
	return []string{strings.TrimSpace(string(out))}, nil
}

// usualDirs are the existing folders that the usual patterns match, and the
// patterns that match none.
func usualDirs() (dirs, notes []string) {
	for _, pattern := range usualPatterns(runtime.GOOS, os.Getenv) {
		matches, err := filepath.Glob(pattern)
		if err != nil || len(matches) == 0 {
			notes = append(notes, pattern+": no such folder")
			continue
		}
		for _, match := range matches {
			if resolved, err := filepath.EvalSymlinks(match); err == nil && !slices.Contains(dirs, resolved) {
				dirs = append(dirs, resolved)
			}
		}
	}
	return dirs, notes
}

func usualPatterns(goos string, env func(string) string) []string {
	switch goos {
	case "darwin":
		return []string{
			"/opt/homebrew/opt/postgresql*/bin", // Homebrew on Apple silicon
			"/usr/local/opt/postgresql*/bin",    // Homebrew on Intel
			"/Applications/Postgres.app/Contents/Versions/*/bin",
			"/Library/PostgreSQL/*/bin",      // EDB installer
			"/opt/local/lib/postgresql*/bin", // MacPorts
		}
	case "windows":
		var patterns []string
		for _, name := range []string{"ProgramFiles", "ProgramW6432", "ProgramFiles(x86)"} {
			if root := env(name); root != "" {
				patterns = append(patterns, filepath.Join(root, "PostgreSQL", "*", "bin"))
			}
		}
		if home := env("USERPROFILE"); home != "" {
			patterns = append(patterns, filepath.Join(home, "scoop", "apps", "postgresql*", "current", "bin"))
		}
		return patterns
	default:
		return []string{
			"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
			"/usr/pgsql-*/bin",          // Fedora, RHEL with the PGDG repository
			"/usr/lib/postgresql*/bin",  // SUSE
			"/usr/libexec/postgresql*",  // Alpine
			"/usr/bin",                  // Fedora, RHEL, Arch
			"/usr/local/bin",            // BSD, official container images on Alpine
			"/usr/local/pgsql/bin",      // built from source
			"/opt/pgsql/bin",
			"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
		}
	}
}
