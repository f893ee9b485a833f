//go:build !linux

package pgserver

func threadID() int { return 0 }
