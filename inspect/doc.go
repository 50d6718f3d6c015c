// Package inspect reads programs that use Rondo: what their tasks are, what each
// waits for and since when, which task waits for which, and where each stands, with
// its whole stack.
//
// OpenProcess reads a live process from outside, by its id alone. It works on any
// Rondo process: no special build, no pause, and also if the loop hangs. OpenCore
// reads a core file. Snapshot and Handler read the calling program. All of them
// return a Program, which is data, and writes itself as a tree or as JSON.
//
// The reader uses the records that the loops keep for themselves; see package internal/layout.
// The program keeps running meanwhile, so a Program may have parts from different moments. The
// reader notices that: each task says whether it ran meanwhile, and the description of a task
// that did not is right.
//
// The layout of Go's own records differs between releases. Those of the known releases are tried
// and checked. If an unknown release has built the program, stacks are missing, and
// Program.Missing says so.
//
// Root may read the memory of a process, and so may its own user if the system
// lets users trace their processes (ptrace(2)). This works on Linux; elsewhere
// only the calling program can be read.
package inspect
