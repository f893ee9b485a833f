//go:build unix

package pgserver

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const shell = "/bin/sh"

// launchScript tells the watcher the PID that the postmaster is going to have,
// then becomes the postmaster.
const launchScript = `echo "$$" >&3 && exec 3>&- && exec "$@"`

// plainScript is launchScript without a watcher.
const plainScript = `exec "$@"`

// watchScript ends the postmaster when its parent is gone. Standard input is a
// pipe: the launch script writes the postmaster's PID, the parent writes "end"
// when the postmaster is gone; end of file means that the parent died. Before
// each signal it makes sure that the PID is still a process on this data
// folder, as PIDs are reused. Two seconds of fast, eight of immediate shutdown,
// then kill.
const watchScript = `
data=$1 mode=$2 pid=
while IFS= read -r line; do
	case $line in end) exit 0 ;; *) pid=$line ;; esac
done
[ -n "$pid" ] || exit 0
ours() {
	if [ -e /proc/self/cmdline ]; then
		tr '\000' ' ' <"/proc/$pid/cmdline"
	else
		ps -ww -o command= -p "$pid"
	fi 2>/dev/null | grep -qF -- "$data"
}
wait_gone() {
	i=0
	while [ "$i" -lt "$1" ]; do
		ours || exit 0
		sleep 0.1 2>/dev/null || sleep 1
		i=$((i + 1))
	done
}
if [ "$mode" = fast ]; then
	ours && kill -s INT "$pid"
	wait_gone 20
fi
ours && kill -s QUIT "$pid"
wait_gone 80
ours && kill -s KILL "$pid"
exit 0
`

// startGuarded starts the postmaster. release must be called after its end; it
// dismisses the watcher and waits for it.
func startGuarded(sp spec) (cmd *exec.Cmd, release func(), err error) {
	w := &watcher{}
	script := plainScript
	if !sp.guards.noWatcher {
		if err := w.start(sp); err != nil {
			return nil, nil, err
		}
		script = launchScript
	}
	arguments := append([]string{"-c", script, "sh", sp.binaries.path("postgres")}, sp.arguments...)
	cmd = exec.Command(shell, arguments...)
	if w.pipe != nil {
		cmd.ExtraFiles = []*os.File{w.pipe}
	}
	cmd.Dir, cmd.Env = sp.workDir, serverEnv()
	cmd.Stdout, cmd.Stderr = sp.output, sp.output
	cmd.WaitDelay = 5 * time.Second // an orphaned backend must not hold Wait by the log pipe
	cmd.SysProcAttr = sp.account.attributes()
	if !sp.guards.noDeathSignal {
		setDeathSignal(cmd.SysProcAttr, signalOf(sp.onDeath))
	}
	if err := cmd.Start(); err != nil {
		w.dismiss()
		return nil, nil, fmt.Errorf("start postgres%s: %w", sp.account.suffix(), err)
	}
	return cmd, w.dismiss, nil
}

// watcher is the shell that outlives this process to end the postmaster.
type watcher struct {
	cmd  *exec.Cmd
	pipe *os.File // writing end; close-on-exec, so no child but the launch script has it
}

func (w *watcher) start(sp spec) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start watcher: %w", err)
	}
	defer reader.Close()
	mode := "fast"
	if sp.onDeath == immediate {
		mode = "immediate"
	}
	w.cmd = exec.Command(shell, "-c", watchScript, "tidings-pg-watcher", sp.data, mode)
	w.cmd.Stdin, w.cmd.Dir, w.cmd.Env = reader, "/", serverEnv()
	w.cmd.SysProcAttr = sp.account.attributes()
	if err := w.cmd.Start(); err != nil {
		writer.Close()
		return fmt.Errorf("start watcher%s: %w", sp.account.suffix(), err)
	}
	w.pipe = writer
	return nil
}

func (w *watcher) dismiss() {
	if w.pipe == nil {
		return
	}
	_, _ = w.pipe.WriteString("end\n") // an error means that it is gone already
	_ = w.pipe.Close()
	_ = w.cmd.Wait()
}

func signalOf(mode shutdown) syscall.Signal {
	if mode == fast {
		return syscall.SIGINT
	}
	return syscall.SIGQUIT
}

// signal asks for a shutdown. os.Process refuses a PID that was reaped.
func (p *process) signal(mode shutdown) error { return p.cmd.Process.Signal(signalOf(mode)) }

// serverEnv is this process's environment without what would change initdb or
// the server.
func serverEnv() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PG") || strings.HasPrefix(name, "LC_") || name == "LANG" ||
			name == "LANGUAGE" || name == "TZ" || name == "NOTIFY_SOCKET" {
			continue
		}
		env = append(env, entry)
	}
	return append(env, "LC_ALL=C")
}

// alive tells whether pid is a live process, as far as this user can know.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return (err == nil || err == syscall.EPERM) && !zombie(pid)
}
