package pgserver

import "fmt"

// account is the unprivileged user as whom a root parent runs the server. A nil
// account is the parent's own user.
type account struct {
	name string
	uid  uint32
	gid  uint32
}

func (a *account) String() string {
	if a == nil {
		return "this user"
	}
	return fmt.Sprintf("user %s (uid %d)", a.name, a.uid)
}

// suffix names the account in error texts.
func (a *account) suffix() string {
	if a == nil {
		return ""
	}
	return " as " + a.String()
}
