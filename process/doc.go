// Package process runs other programs from the tasks of a loop. Its Cmd has the API
// of os/exec's and returns that package's errors:
//
//	out, err := process.Command(ctx, "git", "log", "--oneline").Output()
//
// It differs from os/exec in these points:
//
//   - A child belongs to the scope of its ctx, as a task does. The scope ends when
//     the child has ended and was reaped, whether or not anybody waits for it. So
//     it leaves no zombie and no descriptor.
//   - When ctx is cancelled the child receives SIGTERM. It is killed if it has not
//     ended after WaitDelay, which is 5 s by default. os/exec kills at once.
//   - Pipes do not outlive the child by more than WaitDelay, even if a process that
//     the child has left behind holds them. What the child itself wrote is never
//     lost.
//   - Wait may be called by several tasks and more than once, and returns the same
//     each time. It may be called while others read from StdoutPipe.
//
// A child that is to outlive its scope or the program belongs to no scope: start it with
// os/exec in rondo.Offload; the example Outlive shows how.
//
// Start, Wait, Run, Output, CombinedOutput, and Read and Write of the pipes suspend
// the task. They take no ctx, because they have the signatures of os/exec and of
// package io. Another goroutine may call Wait and use the pipes; it blocks without
// stopping the loop. It cannot start a child.
//
// On Linux the loop watches a pidfd, and no goroutine waits for the child. On other
// systems, and with -tags rondo_portable, a goroutine does. In a simulation there are
// no processes: Start, StdinPipe, StdoutPipe and StderrPipe fail with an error that
// is errors.ErrUnsupported.
package process
