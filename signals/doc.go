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
// A program that only has to end on Ctrl-C needs neither. Set the field Interrupt of
// rondo.Runner: the first signal then cancels every task, and the second has its
// default effect. Cancel does the same for a part of a program.
//
// The package uses os/signal, and what os/signal says about particular signals holds
// here. Each catcher gets one copy of a signal: each Notify, each Cancel, a Runner
// with Interrupt, and each channel of os/signal. In a simulation there are no
// signals: Notify waits and Cancel runs its body.
package signals
