//go:build unix && !linux

package pgserver

import "syscall"

// setDeathSignal does nothing: the watcher alone ends the server.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// killWithParent does nothing: initdb ends by itself within a second or two.
func killWithParent(*syscall.SysProcAttr) {}

// zombie is false: init reaps at once where there are no containers.
func zombie(int) bool { return false }
