package pgserver

import (
	"os"
	"regexp"
	"strconv"
	"syscall"
)

const tmpfs = 0x01021994 // TMPFS_MAGIC of statfs(2)

var available = regexp.MustCompile(`(?m)^MemAvailable:\s+(\d+) kB$`)

// memoryFree is how much a memory file system can still take, bounded by the
// memory the machine can give; zero if dir is none.
func memoryFree(dir string) uint64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || int64(fs.Type) != tmpfs {
		return 0
	}
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	match := available.FindSubmatch(content)
	if match == nil {
		return 0
	}
	kilobytes, err := strconv.ParseUint(string(match[1]), 10, 64)
	if err != nil {
		return 0
	}
	return min(fs.Bavail*uint64(fs.Bsize), kilobytes<<10)
}
