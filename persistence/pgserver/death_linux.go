package pgserver

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// setDeathSignal has the kernel send sig to the child when the forking thread
// dies. Package syscall sets it after the change of credentials, which would
// clear it; the exec of the postmaster keeps it, being neither setuid nor
// blessed with capabilities.
func setDeathSignal(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// killWithParent has the kernel kill a short-lived child such as initdb.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// zombie tells whether a process is dead and only waits to be reaped, which the
// init of many containers does late or never.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// The state follows the name, which is in parentheses and may hold any byte.
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	return len(rest) > 1 && (rest[1] == 'Z' || rest[1] == 'X')
}
