// Package signals brings the signals of the system to the tasks of a loop: as
// values, by Notify, and as the end of a scope, by Cancel.
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
// A program that has to end on Ctrl-C needs neither: rondo.Runner has a field
// Interrupt that makes the first signal cancel every task, and leaves the second
// to the system. Cancel does the same to a part of a program.
//
// It stands on os/signal, and what that says of particular signals holds here.
// A signal goes to everybody who has asked for it, a channel of os/signal
// included. In a simulation there are no signals: Notify waits and Cancel runs
// its body.
package signals
