package peer

// A child ends with its parent, and runs as a user other than root.

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// ownChild makes the kernel end the child with the thread that starts it, and so
// with the process (prctl(2), PR_SET_PDEATHSIG). A test that panics or exceeds its
// time limit cleans nothing up.
func ownChild(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// An account is the user that a command runs as. nil is the user of the test.
type account struct{ uid, gid int }

// unprivileged returns an account for a program that refuses to run as root: nil if
// the test does not run as root.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	var missing error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			missing = err
			continue
		}
		a := new(account)
		if a.uid, err = strconv.Atoi(u.Uid); err != nil {
			return nil, err
		}
		if a.gid, err = strconv.Atoi(u.Gid); err != nil {
			return nil, err
		}
		return a, nil
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and no other user was found: %w", missing)
}

// own makes the account the owner of a folder.
func (a *account) own(dir string) error {
	if a == nil {
		return nil
	}
	return os.Chown(dir, a.uid, a.gid)
}

// run makes cmd run as the account.
func (a *account) run(cmd *exec.Cmd) {
	if a == nil {
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
}
