package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

var (
	kernel32                 = syscall.NewLazyDLL("kernel32.dll")
	createJobObject          = kernel32.NewProc("CreateJobObjectW")
	setInformationJobObject  = kernel32.NewProc("SetInformationJobObject")
	assignProcessToJobObject = kernel32.NewProc("AssignProcessToJobObject")
)

const (
	jobExtendedLimitInformation = 9
	jobLimitKillOnJobClose      = 0x2000
	processSetQuota             = 0x0100
	stillActive                 = 259
	processQueryLimited         = 0x1000
)

// jobLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type jobLimits struct {
	perProcessUserTimeLimit, perJobUserTimeLimit int64
	limitFlags                                   uint32
	minimumWorkingSet, maximumWorkingSet         uintptr
	activeProcessLimit                           uint32
	affinity                                     uintptr
	priorityClass, schedulingClass               uint32
	io                                           [6]uint64
	memory                                       [4]uintptr
}

// startGuarded starts the postmaster in a job that ends with this process: the
// system closes the job's only handle, whatever way the process dies.
func startGuarded(sp spec) (cmd *exec.Cmd, release func(), err error) {
	cmd = exec.Command(sp.binaries.path("postgres"), sp.arguments...)
	cmd.Dir, cmd.Env = sp.workDir, serverEnv()
	cmd.Stdout, cmd.Stderr = sp.output, sp.output
	cmd.SysProcAttr = sp.account.attributes()
	job, err := newJob()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		_ = syscall.CloseHandle(job)
		return nil, nil, fmt.Errorf("start postgres: %w", err)
	}
	if err := assign(job, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = syscall.CloseHandle(job)
		return nil, nil, err
	}
	return cmd, func() { _ = syscall.CloseHandle(job) }, nil
}

func newJob() (syscall.Handle, error) {
	job, _, err := createJobObject.Call(0, 0)
	if job == 0 {
		return 0, fmt.Errorf("create job object: %w", err)
	}
	limits := jobLimits{limitFlags: jobLimitKillOnJobClose}
	ok, _, err := setInformationJobObject.Call(job, jobExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		_ = syscall.CloseHandle(syscall.Handle(job))
		return 0, fmt.Errorf("limit job object: %w", err)
	}
	return syscall.Handle(job), nil
}

func assign(job syscall.Handle, pid int) error {
	process, err := syscall.OpenProcess(processSetQuota|syscall.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return fmt.Errorf("open postgres process: %w", err)
	}
	defer syscall.CloseHandle(process)
	if ok, _, err := assignProcessToJobObject.Call(uintptr(job), uintptr(process)); ok == 0 {
		return fmt.Errorf("assign postgres to its job object: %w", err)
	}
	return nil
}

// signal asks for a shutdown through pg_ctl, which knows the server's pipe.
func (p *process) signal(mode shutdown) error {
	name := "INT"
	if mode == immediate {
		name = "QUIT"
	}
	return exec.Command(p.bin.path("pg_ctl"), "kill", name, strconv.Itoa(p.pid())).Run()
}

func serverEnv() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(strings.ToUpper(entry), "PG") {
			env = append(env, entry)
		}
	}
	return env
}

func alive(pid int) bool {
	handle, err := syscall.OpenProcess(processQueryLimited, false, uint32(pid))
	if err != nil {
		return false
	}
	defer syscall.CloseHandle(handle)
	var code uint32
	return syscall.GetExitCodeProcess(handle, &code) == nil && code == stillActive
}

func chooseAccount(string) (*account, error) { return nil, nil }

// attributes keep Ctrl-C of the console from the server.
func (a *account) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func killWithParent(*syscall.SysProcAttr) {}

func (a *account) own(string) error        { return nil }
func (a *account) reclaim(string) error    { return nil }
func (a *account) checkEnter(string) error { return nil }
func (a *account) ours(fs.FileInfo) bool   { return true }

// trusted relies on the access lists of the user's profile folders.
func trusted(fs.FileInfo) bool { return true }

var errLocked = errors.New("locked by another process")

// fileLock is a file opened without sharing: opening is locking.
type fileLock struct{ handle syscall.Handle }

func lockFile(path string) (*fileLock, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	const sharingViolation = syscall.Errno(32)
	if err == sharingViolation {
		return nil, errLocked
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return &fileLock{handle}, nil
}

func (l *fileLock) release() {
	if l != nil && l.handle != 0 {
		_ = syscall.CloseHandle(l.handle)
		l.handle = 0
	}
}

func openLog(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}
