//go:build unix

package pgserver

import (
	"errors"
	"os"
	"syscall"
)

var errLocked = errors.New("locked by another process")

// fileLock is held until release or the death of this process.
type fileLock struct{ file *os.File }

// lockFile takes the lock of path, creating the file; it does not wait. It
// follows no symlink and opens no pipe, since the folder may be another user's.
func lockFile(path string) (*fileLock, error) {
	flags := os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		file.Close()
		return nil, err
	}
	// Who cleaned this folder away meanwhile held the lock of a file that is no
	// longer there; so would we.
	opened, errOpened := file.Stat()
	named, errNamed := os.Lstat(path)
	if errOpened != nil || errNamed != nil || !os.SameFile(opened, named) {
		file.Close()
		return nil, errLocked
	}
	return &fileLock{file}, nil
}

func flock(file *os.File) error {
	for {
		switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return errLocked
		default:
			return err
		}
	}
}

func (l *fileLock) release() {
	if l != nil && l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

// openLog opens a log for appending and reading, following no symlink.
func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
}
