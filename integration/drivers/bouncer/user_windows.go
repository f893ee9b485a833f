package bouncer

import "os/exec"

// asServerUser changes nothing: there is no root.
func asServerUser(*exec.Cmd, string) {}
