//go:build unix

package process

import (
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// awaitStopped returns when the child is stopped: the signal only asks for it.
func (c *Child) awaitStopped() {
	c.t.Helper()
	for deadline := time.Now().Add(Deadline); time.Now().Before(deadline); {
		out, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(c.PID())).Output()
		if err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "T") {
			return
		}
	}
	c.t.Fatalf("child %d did not stop", c.PID())
}
