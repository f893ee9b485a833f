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

// pathDirs are the folders to which PATH's initdb and pg_config lead, and notes
// about what PATH lacks.
func pathDirs() (dirs, notes []string) {
	if initdb, err := exec.LookPath("initdb"); err != nil {
		notes = append(notes, "PATH: no initdb")
	} else if resolved, err := filepath.EvalSymlinks(initdb); err != nil {
		notes = append(notes, fmt.Sprintf("%s: %v", initdb, err))
	} else {
		dirs = append(dirs, filepath.Dir(resolved))
	}
	config, err := exec.LookPath("pg_config")
	if err != nil {
		return dirs, append(notes, "PATH: no pg_config")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, config, "--bindir").Output()
	if err != nil {
		return dirs, append(notes, fmt.Sprintf("%s --bindir: %v", config, err))
	}
	if dir := strings.TrimSpace(string(out)); !slices.Contains(dirs, dir) {
		dirs = append(dirs, dir)
	}
	return dirs, notes
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
