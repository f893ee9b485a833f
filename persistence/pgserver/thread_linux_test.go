package pgserver

import "syscall"

func threadID() int { return syscall.Gettid() }
