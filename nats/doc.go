// Package nats lets the tasks of a loop use NATS: messages, requests, calls of functions on
// other machines, and stored jobs. It is a bridge to the client
// github.com/nats-io/nats.go and hides nothing of it: options, messages, errors and
// JetStream are the client's own, and [Conn.NC] is its connection. In what follows the
// client is imported as natsgo.
//
// # Why a bridge
//
// A function of the client may block its goroutine, and in a task it would block the whole
// loop: the client writes to the socket while it holds its lock, so if the server does not
// read, even a Publish waits. A [Conn] has two goroutines. One takes what tasks have published
// from a bounded outbox, and hands it to the client; the other takes what the client has read
// from all subscriptions, and hands it to the loop in batches. When a task waits for the
// connection, the wait can be cancelled like any other, and a list of tasks shows what it waits
// for, such as "nats reply" of a subject. In a task, do not call the client's Publish,
// Msg.Respond or jetstream.Msg.Ack: publish to m.Reply with the Conn, or use [rondo.Offload].
//
//	err := rondo.Group(ctx, func(g *rondo.Scope) error {
//		c, err := nats.Connect(g, "nats://localhost:4222")
//		if err != nil {
//			return err
//		}
//		return c.Publish(g, "greetings", []byte("hello"))
//	})
//
// A Conn belongs to the loop on which it was made. In a program with several loops, connect
// on each. [Subscription.NextCase] is a case of a rondo.Select.
//
// # What is promised
//
//   - [Conn.Publish], [Conn.Subscribe], [Conn.Request], [Conn.Handle]: at most once, in the
//     order in which one connection published. A subscription that is full drops messages:
//     its reader gets natsgo.ErrSlowConsumer at the place of the gap. A Request whose message
//     or reply is lost waits until its ctx is cancelled: give it a deadline.
//   - [Call] and [Serve]: at most once, and never repeated. A call ends with a result, with a
//     [RemoteError], or with an error that says whether the function has run: [ErrNoWorker],
//     also without a connection, and [ErrRefused], it has not; [ErrLost], nobody knows. A
//     worker that dies is noticed after two seconds, whatever the deadline: while a function
//     runs its worker sends a heartbeat each 500 ms. A function that computes for about as
//     long without a wait keeps its loop from sending them, and its call is lost: let it
//     compute by [rondo.Offload]. Timeouts travel as durations, so clocks need not agree.
//     Cancellation is best effort: the worker that runs the function is told, and only that
//     one; each further heartbeat repeats it. A worker also cancels a function whose caller is
//     gone. The stack of a panic is sent only to callers that ask for it.
//   - [Enqueue] and [Work]: at least once. A job is stored before Enqueue returns, and is
//     delivered until fn has returned nil, or as often as its consumer or its [Worker] allows,
//     and then is a dead letter if the Worker writes those, see [Redeliver]. It may run
//     more than once, also after it has succeeded: make it so that this does no harm. What
//     must survive the caller's death or the worker's belongs here, and not into a Call: a
//     retry that outlives a process is the engine's.
//
// A file store of JetStream survives the death of its process. After a power failure it may
// lack what it has acknowledged since it last synced to disk, two minutes by default: set
// sync_interval to always, or use streams with three replicas.
//
// # Headers and middleware
//
// Each message may have headers: [Conn.PublishMsg], [Conn.RequestMsg], [Producer.EnqueueMsg], and
// [WithHeader] for a [Call], whose function reads them by [HeaderOf]. A [Middleware] wraps what is
// sent and what runs: Conn.Middleware, Worker.Middleware and Producer.Middleware are lists of them.
// nats/oteltask has one for OpenTelemetry, in a module of its own.
//
// # What is bounded
//
//   - The outbox of a connection: 1 MiB. When it is full, tasks that publish wait.
//   - The queue of a Subscription: its max.
//   - The tasks of Handle, Serve and Work: their limit.
//   - The messages that wait for a task: 4,096 of Handle and 1,024 of Serve, both with 64 MiB at
//     most. Work does not ask for more jobs than it can start.
//   - The messages between the client and the loop: 65,536 of a connection, and as many requests
//     of a Serve, with 64 MiB at most. They wait there while the goroutine or the loop gets no
//     processor; beyond that, messages are dropped.
//   - A payload: the maximum of the server, checked before it is sent.
//   - A subject: 4,056 bytes, with its reply or queue; that is the server's default.
//   - What the client keeps while there is no connection: ReconnectBufSize, 8 MiB by default.
//     Then tasks that publish wait, unless ReconnectBufSize is -1.
//
// Errors that no caller can be told, such as a missing permission for what was published,
// go to the ErrorHandler of the options, or to slog if there is none. The handler
// has to return: the end of the connection waits for it.
//
// # In tests
//
// A server cannot be simulated. Package nats/embed starts a real one in the test's process in
// some ten milliseconds. The protocol of calls is tested under sim, on a network that loses,
// duplicates and delays messages and is partitioned, as a seed says.
package nats
