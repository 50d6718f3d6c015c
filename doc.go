// Package rondo is an event loop made of coroutines. Thousands of tasks that
// read like plain sequential code take turns, and share state without locks.
// Five rules:
//
//   - One task runs at a time, and tasks switch only where they wait.
//   - Pass the ctx on, and return the error of every wait.
//   - Never block the goroutine: use Rondo's own calls, or [Offload].
//   - [Group], [Timeout] and [Run] return when everything in them has ended.
//   - A panic in any task ends the loop, unless [Runner] has Recover set.
//
// # A loop and its tasks
//
// [Run] makes a loop, runs a function as its first task, and returns when that
// task and all others have ended. [Go] starts another task. [Task.Wait] waits
// for its end and returns its error.
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
// A function that takes a ctx and returns an error may suspend the task, and the task can be
// cancelled there. [Settle] may too, and so may a range over [Every], [Map], [Queue.All] or
// [AsCompleted]. Other functions with a ctx, such as Go or [Now], only look up the loop.
// Functions without a ctx never suspend, except methods whose signature the standard library
// fixes, such as a connection's Read, and the functions that [Pull] returns. The loop is found
// through ctx: there is no global one.
//
// Such a call may suspend the task even if it does not have to wait, as when a free [Mutex] is
// locked: if the loop has been busy for 100 µs, Lock lets others run first. So a loop of calls
// that always succeed starves no other task, timer or socket. What takes no ctx, such as
// [Mutex.TryLock], never suspends. Your own functions can do the same by calling [Checkpoint].
//
// A call with a ctx that belongs to no loop returns [ErrNoLoop], or panics if it returns no
// error. A nil function panics, and so does a zero value of a type that needs a constructor,
// such as [NewBarrier].
//
// A [Scope] is a [context.Context] that owns tasks. Group opens one and returns
// when its body and all tasks in it have ended, so no task outlives the call that
// started it. The first to fail cancels the others:
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
// Timeout and [Deadline] are scopes with a time limit. When it is over they
// cancel what runs in them and wait for it: nothing they started outlives them.
//
//	err := rondo.Timeout(ctx, 10*time.Millisecond, func(ctx context.Context) error {
//		return rondo.Sleep(ctx, time.Hour)
//	})
//	fmt.Println(err) // context deadline exceeded
//
// # Cancellation is a level
//
// A cancelled scope stays cancelled. Every call in it that may suspend fails with
// the cause, even if what it waits for is ready. Only a wait that was already
// satisfied when the scope was cancelled returns its value. That is what "if ctx
// is cancelled first" means in the comments. [Check] returns the cause as well,
// and never suspends. Clean-up that has to wait uses [Shield], whose body runs to
// its end:
//
//	err := rondo.Sleep(ctx, time.Hour)
//	return errors.Join(err, rondo.Shield(ctx, sayGoodbye))
//
// # Several at once
//
//   - Use [Group] if you start several tasks and want the first failure to end them.
//   - Use [Gather] if you also want a result from each.
//   - Use [Settle] if you want each result or error, and a failure must not end the rest.
//   - Use [Race] if you want the first success and the others cancelled.
//   - Use [Map] if you have a sequence and want a few at a time, results in order.
//   - Use [WaitAny] if you have tasks and want the first that ends.
//   - Use [Select] if you have queues, events, futures or a time, and want to take one.
//   - Use [AsCompleted] if you have Futures and want each when it is done.
//
// # Waiting for each other
//
// [Queue] passes values between tasks, [Event] is a flag to wait for, and [Mutex] guards code
// that waits inside; code that does not wait needs none. [RWMutex], [Cond], [Semaphore] and
// [Barrier] are what their names say. [Async] is Go for a function with a result. Any goroutine
// may set a [Future] that [NewFuture] made. Build your own primitives on [WaitList]. A Queue
// hands each value to one task; package broadcast has Watch and Topic for what many tasks read.
//
//	length := rondo.Async(ctx, func(ctx context.Context) (int, error) {
//		return len("rondo"), rondo.Sleep(ctx, time.Millisecond)
//	})
//	n, err := length.Wait(ctx)
//
// # Other goroutines
//
// Code that blocks, or computes for long, belongs on a goroutine. [Offload] runs it there and
// suspends the task:
//
//	text, err := rondo.Offload(ctx, func(ctx context.Context) ([]byte, error) {
//		return os.ReadFile("go.mod")
//	})
//
// Other goroutines come in through [Loop.Post], which runs a callback on the loop,
// or [Submit], which starts a task. They may also call methods whose comments say
// so, such as [Future.Set], [Task.Wait] and [Task.Cancel].
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
// A task's error goes to the scope that owns it. The loop's root scope owns tasks
// started outside any other scope; their errors go to [Runner].OnError if no
// caller waits for them. A panic in a task cancels everything, deferred calls run,
// and Run panics with a [*PanicError] that has the task's own stack. A Runner with
// Recover set makes it the task's error instead:
//
//	r := rondo.Runner{Recover: true}
//	err := r.Run(context.Background(), func(ctx context.Context) error {
//		return rondo.Go(ctx, func(ctx context.Context) error { panic("lost") }).Wait(ctx)
//	})
//	p, ok := errors.AsType[*rondo.PanicError](err)
//
// If all tasks wait and nothing known can end a wait, that is logged after a second,
// with what each waits for. With EndDeadlock of the Runner, Run cancels the tasks and
// returns an [ErrDeadlock] that names them; see Deadlock in docs/DEBUGGING.md.
//
// # The same run again
//
// A loop gets its time, and the order in which it runs ready tasks, from a driver. Package
// [github.com/rondo-go/rondo/sim] has a simulated driver for tests: no real time passes, and a
// seed repeats the order in which tasks ran. Its function Explore tries every order.
//
// # Never in a task
//
// Code that blocks the goroutine stops every task of the loop. A task must not hold a
// sync.Mutex while it waits, use a channel that may block, call time.Sleep, read files, resolve
// names, or compute for long. It must return the errors of its waits: in a cancelled scope they
// all fail at once, so a loop that ignores them lets no other task run. docs/DEBUGGING.md says
// what to use instead. A task that holds the loop for 10 s is reported, with its stack and what
// it is blocked on; with Runner.Debug, or RONDO_DEBUG=1 in the environment, after 100 ms.
//
// docs/ARCHITECTURE.md in the repository says in which order to read the source.
package rondo
