// Package signals brings the signals of the system to the tasks of a loop. Notify
// returns them as values, and Cancel ends a scope when one comes.
//
//	rondo.Run(ctx, func(ctx context.Context) error {
//		for range signals.Notify(ctx, syscall.SIGHUP) {
//			if err := reload(ctx); err != nil {
//				return err
//			}
//		}
//		return rondo.Check(ctx) // the sequence ends when ctx is cancelled
//	})
//
// How a program ends on Ctrl-C or SIGTERM; each time the second signal has its default
// effect:
//
//   - Use Serve if it is a server whose connections may go on for a while.
//   - Use Run if it has no listener and its tasks may go on for a while: a worker, a
//     consumer of a queue, a job that runs every hour.
//   - Use the field Interrupt of rondo.Runner if the signal is to cancel every task at
//     once, and clean-up is all that is left to do.
//   - Use Cancel for the same in a part of a program.
//
// The package uses os/signal, and what os/signal says about particular signals holds
// here. Each catcher gets one copy of a signal: each Notify, Cancel, Run and Serve, a Runner
// with Interrupt, and each channel of os/signal.
//
// On a host of a sim.Cluster, signals are those that the test sends with Host.Signal. In
// any other simulation there are none: Notify waits, and Cancel, Run and Serve run until they
// end by themselves.
package signals
