// Package rondo is an event loop made of coroutines. Thousands of tasks that
// read like plain sequential code take turns, one at a time, and switch only
// where they wait. Between two waits a task is alone, so what tasks share needs
// no lock.
//
// # A loop and its tasks
//
// [Run] makes a loop, runs a function as its first task, and returns when that
// task and all others have ended. [Go] starts a further task, and [Task.Wait]
// waits for its end and gives its error.
//
//	err := rondo.Run(context.Background(), func(ctx context.Context) error {
//		visits := 0
//		visit := func(ctx context.Context) error {
//			visits++ // no lock: nothing else runs between two waits
//			return rondo.Sleep(ctx, time.Millisecond)
//		}
//		a, b := rondo.Go(ctx, visit), rondo.Go(ctx, visit)
//		err := errors.Join(a.Wait(ctx), b.Wait(ctx))
//		fmt.Println(visits, "visits")
//		return err
//	})
//
// # The ctx names the scope
//
// A function that takes a ctx and returns an error may suspend the task, and is
// a point at which the task can be cancelled. One that takes a ctx and returns
// no error, such as Go or [Now], only asks it where it is; [Every] and
// [Queue.All] suspend when they are ranged over. What takes no ctx does not
// suspend, but for methods that an interface of the standard library fixes, such
// as the Read of a socket's connection; their comments say so. There is no
// ambient loop.
//
// A call with a ctx that belongs to no loop returns [ErrNoLoop], or panics if it
// returns no error. A nil function panics, and so does a zero value that is not ready.
//
// A [Scope] is a [context.Context] that owns tasks. [Group] opens one and
// returns when its body and all tasks in it have ended, so no task outlives the
// call that started it. The first to fail cancels the others:
//
//	err := rondo.Group(ctx, func(g *rondo.Scope) error {
//		g.Go(func(ctx context.Context) error {
//			return rondo.Sleep(ctx, time.Hour)
//		})
//		g.Go(func(ctx context.Context) error {
//			return errors.New("no such host")
//		})
//		return nil
//	})
//	fmt.Println(err) // no such host
//
// [Timeout] and [Deadline] are scopes that end by themselves. They do not leave
// what runs in them behind: they cancel it and wait for it.
//
//	err := rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error {
//		return rondo.Sleep(ctx, time.Hour)
//	})
//	fmt.Println(err) // context deadline exceeded
//
// # Cancellation is a level
//
// A scope that is cancelled stays cancelled. The wait that it is in fails with
// the cause, and so does each further one; nothing is counted and nothing is
// un-cancelled. Clean-up that has to wait says so with [Shield], which runs its
// body to the end:
//
//	err := rondo.Sleep(ctx, time.Hour)
//	return errors.Join(err, rondo.Shield(ctx, sayGoodbye))
//
// A wait that was satisfied before the cancellation returns what it waited for,
// and the next one fails: at a tie nothing is lost. [Check] is a point of
// cancellation that never suspends.
//
// # Waiting for each other
//
// [Queue] hands values from task to task, [Event] is a flag to wait for, and
// [Mutex] guards a stretch of code that waits inside; code that does not wait
// needs none; [RWMutex], [Cond], [Semaphore] and [Barrier] are what their names
// say. [Async] is Go for a function with a result, [Gather] for several.
//
//	length := rondo.Async(ctx, func(ctx context.Context) (int, error) {
//		return len("rondo"), rondo.Sleep(ctx, time.Millisecond)
//	})
//	n, err := length.Wait(ctx)
//
// A [Future] made by [NewFuture] is set by whoever has the result. What else can
// wait is made of a [WaitList], as these are.
//
// # Other goroutines
//
// What blocks or computes for long leaves the loop by [Offload], which runs it on
// a goroutine and suspends the task meanwhile:
//
//	text, err := rondo.Offload(ctx, func(ctx context.Context) ([]byte, error) {
//		return os.ReadFile("go.mod")
//	})
//
// A goroutine that is not on the loop comes in by [Loop.Post], which runs a
// callback there, or by [Submit], which starts a task. It may also use the
// methods that say so: [Future.Set], [Future.Wait], [Task.Wait], [Task.Cancel].
//
//	loop, answer := rondo.LoopOf(ctx), rondo.NewFuture[int](ctx)
//	total := 0
//	go func() {
//		err := loop.Post(func() {
//			total += 42 // on the loop, so this is as safe as in a task
//			answer.Set(total)
//		})
//		if err != nil {
//			answer.Fail(err) // the loop has ended
//		}
//	}()
//	n, err := answer.Wait(ctx)
//
// # Errors and panics
//
// A task's error goes to the scope that owns it. The loop's root scope owns what
// is started outside any other; an error there for which nobody waits goes to
// [Runner].OnError. A panic in a task is a fault of the program: everything is
// cancelled, deferred calls run, and Run panics with a [*PanicError] that has the
// task's own stack. A Runner with Recover set makes it the task's error instead:
//
//	r := rondo.Runner{Recover: true}
//	err := r.Run(context.Background(), func(ctx context.Context) error {
//		return rondo.Go(ctx, func(ctx context.Context) error { panic("lost") }).Wait(ctx)
//	})
//	p, ok := errors.AsType[*rondo.PanicError](err)
//
// If all tasks wait and nothing can ever end a wait, Run cancels them and returns
// an [ErrDeadlock] that names them.
//
// # The same run again
//
// A loop takes its clock and its choices from one place. Package
// [github.com/rondo-go/rondo/sim] puts a simulated one there: tests do not sleep,
// and a seed repeats the order in which tasks ran, or every order is tried.
//
// # Never in a task
//
// Whatever blocks the goroutine stops every task of the loop. So a task must not
//
//   - hold a sync.Mutex while it waits: use [Mutex], or no lock;
//   - send to or receive from a channel that may block: use [Queue];
//   - call time.Sleep: use [Sleep];
//   - read files, resolve names or compute for long: use [Offload];
//   - go on in spite of the errors of its waits: once it is cancelled they all
//     fail at once, so a loop around them would never let another task run.
//
// Runner.Debug, or RONDO_DEBUG=1 in the environment, reports a task that holds the
// loop for 100 ms, with its stack and with what it is blocked on.
//
// docs/ARCHITECTURE.md in the repository says in which order to read the source.
package rondo
