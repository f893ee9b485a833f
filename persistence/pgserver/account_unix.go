//go:build unix

package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// chooseAccount returns nil unless this process is root: then the owner of an
// existing data folder (a bind mount of a developer, or data made earlier), else
// postgres, else nobody.
func chooseAccount(dataDir string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if dataDir != "" {
		if info, err := os.Stat(filepath.Join(dataDir, "PG_VERSION")); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
				a := &account{name: "of the data folder", uid: stat.Uid, gid: stat.Gid}
				if owner, err := user.LookupId(strconv.Itoa(int(stat.Uid))); err == nil {
					a.name = owner.Username
				}
				return a, nil
			}
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
		if errUID == nil && errGID == nil && uid != 0 {
			return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and this system has neither a user postgres nor nobody: " +
		"add one, or run as another user")
}

// attributes give a child this account and a session of its own.
func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// own hands a file to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// reclaim takes a folder back, so that the account cannot change what is copied
// from it.
func (a *account) reclaim(dir string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(dir, os.Geteuid(), os.Getegid())
}

// checkEnter makes sure that the account can enter dir, by trying.
func (a *account) checkEnter(dir string) error {
	if a == nil {
		return nil
	}
	cmd := exec.Command(shell, "-c", `cd -- "$1"`, "sh", dir)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", serverEnv(), a.attributes()
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("become %s, as whom a root process runs PostgreSQL: %w", a, err)
	}
	return fmt.Errorf("%s, as whom a root process runs PostgreSQL, cannot enter %s (%s): "+
		"every folder above needs mode o+x; move it out of a private home, or run as another user",
		a, dir, strings.TrimSpace(string(out)))
}

// trusted tells whether a file belongs to this process's user and nobody else
// may write it.
func trusted(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// ours tells whether a file belongs to this process's user or the account.
func (a *account) ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || a != nil && stat.Uid == a.uid)
}
