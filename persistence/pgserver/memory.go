package pgserver

import "os"

const (
	memoryDir    = "/dev/shm"
	memoryNeeded = 4 << 30 // bytes free; a server takes 60 MB, a database 8 MB
)

// MemoryDir is a folder for Config.TempDir that lies in memory: /dev/shm on
// Linux, where that has 4 GiB free and the machine as much memory available.
// Elsewhere, or where $TIDINGS_PG_TMP has chosen a folder, it is empty, which
// Config.TempDir takes as its default. Fit for tests, not for tests with more
// data than memory.
func MemoryDir() string {
	if os.Getenv(tempEnv) != "" || memoryFree(memoryDir) < memoryNeeded {
		return ""
	}
	return memoryDir
}
