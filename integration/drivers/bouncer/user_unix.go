//go:build unix

package bouncer

import (
	"os"
	"os/exec"
	"syscall"
)

// asServerUser has cmd run as the user who owns the server's data, who alone
// reaches its socket: PgBouncer refuses to run as root.
func asServerUser(cmd *exec.Cmd, dataDir string) {
	info, err := os.Stat(dataDir)
	if err != nil || os.Geteuid() != 0 {
		return
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: s.Uid, Gid: s.Gid}}
	}
}
