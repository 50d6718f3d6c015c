// Package process runs other programs from the tasks of a loop. Its Cmd has the
// shape of os/exec's, and its errors are that package's:
//
//	out, err := process.Command(ctx, "git", "log", "--oneline").Output()
//
// What differs from os/exec is what a scope is for:
//
//   - A child belongs to the scope of its ctx, as a task does. The scope ends when
//     the child has ended and was reaped, whether anybody waits for it or not, so
//     there is no zombie and no descriptor left of it.
//   - When ctx is cancelled the child is told to end, by SIGTERM, and killed if it
//     has not after WaitDelay, which is 5 s unless it is set. os/exec kills at once.
//   - Pipes do not outlive the child by more than WaitDelay either: a process that
//     the child left behind, and that holds them, keeps nobody waiting. What the
//     child itself wrote is never lost by that.
//   - Wait may be called by several tasks, again and again, and gives the same each
//     time. It may be called while others read from StdoutPipe.
//
// Start, Wait, Run, Output, CombinedOutput, and Read and Write of the pipes
// suspend the task. A goroutine that is no task of the loop may call Wait and use
// the pipes, and blocks alone then; it cannot start a child.
//
// On Linux the loop watches a pidfd, and no goroutine waits for the child. On
// other systems, and with -tags rondo_portable, one does. In a simulation there
// are no processes: Start, and what makes a pipe, fails with an error that is
// errors.ErrUnsupported.
package process
