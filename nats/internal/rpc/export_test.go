package rpc

// Held returns how many calls and jobs an Endpoint holds.
func (e *Endpoint) Held() (calls, jobs int) { return len(e.calls), len(e.jobs) + len(e.byID) }

// EndControl ends the task that sends cancellations and refusals.
func (e *Endpoint) EndControl() { e.control.Close() }
