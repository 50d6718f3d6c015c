package peer

// This file holds a child to its parent's life and gives it a user that is not
// root.

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// ownChild has the kernel end the child with the thread that starts it, and so
// with the process (prctl(2), PR_SET_PDEATHSIG): a test that panics, or runs
// into its time limit, cleans nothing up.
func ownChild(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// An account is who a command runs as. nil stands for whoever runs the test.
type account struct{ uid, gid int }

// unprivileged finds an account for a program that refuses to be root's: nil if
// the test is not root's either.
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
	return nil, fmt.Errorf("PostgreSQL does not run as root, and there is nobody else: %w", missing)
}

// own gives a folder to the account.
func (a *account) own(dir string) error {
	if a == nil {
		return nil
	}
	return os.Chown(dir, a.uid, a.gid)
}

// run has cmd run as the account.
func (a *account) run(cmd *exec.Cmd) {
	if a == nil {
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
}
