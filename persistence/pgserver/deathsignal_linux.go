package pgserver

import "syscall"

// setDeathSignal has the kernel send sig to the child when the forking thread
// dies. Package syscall sets it after the change of credentials, which would
// clear it; the exec of the postmaster keeps it, being neither setuid nor
// blessed with capabilities.
func setDeathSignal(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// killWithParent has the kernel kill a short-lived child such as initdb.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
