// Package prefetch asks the processor for memory that is about to be needed.
//
// The law: a request changes when a program goes on, and nothing else. A request for an address
// that is stale or not mapped has no effect; the processor has looked for the address in vain.
// On processors for which there is no assembly nothing is requested, and Works is false.
package prefetch

// A Switch is what the processor touches when control passes to another coroutine: addresses,
// each of one cache line if nothing else is said.
type Switch struct {
	Task, Worker, Slot uintptr
	Function           uintptr    // the function value that switches
	Captured           [2]uintptr // the variables that it has captured
	Goroutine          uintptr    // the runtime's record of the goroutine; the lines that a switch reads and writes
	Stack              uintptr    // the goroutine's stack pointer; the lines of the frames that return first
}
