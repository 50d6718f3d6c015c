// Package inspect looks into programs that use Rondo: what their tasks are, what
// each waits for and since when, who waits for whom, and where each stands, with
// its whole stack.
//
// A process is looked into from outside (OpenProcess), by its id alone: it is not
// asked, it is not stopped, and it need not be able to answer; one whose loop
// hangs shows best. A core file shows the same (OpenCore), and so does the
// calling program itself (Snapshot, Handler). All of them give a Picture, which is
// data, and writes itself as a tree or as a table.
//
// What is read is the memory in which the loops keep their own records; see
// package internal/window. The program runs on while it is read, so a Picture
// may be of several moments; the reader notices, and says of each task whether
// it moved meanwhile. What it says of one that did not is right.
//
// The memory of a process may be read by root, and by its own user if the system
// lets users trace their processes (ptrace(2)). This works on Linux; elsewhere a
// program can be looked into from inside.
package inspect
