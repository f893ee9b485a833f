//go:build !linux

package pgtest

func memoryFree(string) uint64 { return 0 }
