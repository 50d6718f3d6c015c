// Package httptask runs handlers of net/http in the tasks of a loop, and makes
// requests of net/http from tasks.
//
// The handlers run on the loop, one at a time. So they share state without locks, they may
// wait as tasks do, and any router and middleware works.
//
// A [Server] speaks HTTP/1.0 and HTTP/1.1 itself, also over TLS: net/http's parser reads a
// request, and a task answers it as net/http's server would, to the byte. An idle connection
// has no task and no buffer. A connection that chooses HTTP/2 is handed over to net/http, which
// serves it on goroutines of its own; only the handlers are tasks there. The same holds for
// listeners that are neither of package net nor of package socket, and for a [Handler] in an
// http.Server of your own.
//
//	visits := make(map[string]int) // no lock: one handler runs at a time
//	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
//		visits[r.URL.Path]++
//		_ = rondo.Sleep(r.Context(), time.Millisecond) // others run meanwhile
//		fmt.Fprintln(w, "visits:", visits[r.URL.Path])
//	})
//	err := rondo.Run(context.Background(), func(ctx context.Context) error {
//		server := &httptask.Server{HTTP: http.Server{Addr: "localhost:8080"}}
//		return server.ListenAndServe(ctx)
//	})
//
// # What a handler may do
//
// The request's context is the ctx of the task: pass it to whatever suspends. It is
// cancelled when the client goes away, as in net/http. Reading the body, writing and
// flushing suspend the task where they would block, so a client that sends or reads
// slowly holds up its own handler only. What is written stays in memory until it is
// 4 KiB (behind net/http 16 KiB), or flushed, or the handler returns.
//
// A cancellation ends waits, but does not change the answer. A client that has closed only its
// sending side still gets its answer, although its handler is cancelled. If another
// cancellation ends a write, the rest of the answer is not sent, and the client sees that it is
// cut.
//
// Flusher, Hijacker and http.ResponseController are there if net/http has them. The
// connection of a Hijacker suspends the task too. There is no http.Pusher.
// A goroutine, such as that of rondo.Offload, may use the request and the response
// while the handler waits for it. If the handler returns while it is in the middle of
// writing, as when its Offload is cancelled because the client has left, the answer is cut, the
// connection is closed, and what it writes after that fails. A Shield around the Offload waits.
// If several tasks or goroutines of a handler write, they take turns: no Write cuts another one.
//
// As in any task, what blocks the goroutine stops the loop: time.Sleep, channels, a
// sync.Mutex that is held by a handler that waits, http.TimeoutHandler inside Handler
// (put it around Handler), http.DefaultClient (use [Client]), and a FlushInterval above 0 of
// an httputil.ReverseProxy, which flushes in a goroutine under a sync.Mutex: a client that reads
// slowly would stop the loop. 0, which flushes event streams at once, and -1 are safe. Where it
// would switch protocols, as for a WebSocket, its Hijack fails in a task, and the client gets
// status 502: it waits by a channel until that connection ends. Put [Blocking] around it for
// such requests, each of which counts among Runner.Threads then.
//
// # Where it differs from net/http
//
//   - http.MaxBytesReader in a handler limits the body, but net/http does not learn of
//     it: the connection is closed only if more than 256 KiB are left unread. Put
//     http.MaxBytesHandler around [Handler] to have it closed at once.
//   - Behind net/http, up to 16 KiB of a body are read ahead. They can be read after the answer has
//     begun, where net/http fails, and the connection of a client that expects 100 Continue stays
//     open.
//   - In the log of a panic, the stack of the handler comes before that of net/http.
//   - Middleware around Handler whose ResponseWriter has no method Unwrap hides the deadlines
//     by which a cancelled task interrupts a read or write: such a read or write ends only when
//     the client, or the server, ends it. Middleware inside Handler costs less.
//   - runtime.Goexit in a handler ends the loop, as in any task.
//   - A plain connection that a handler of a Server takes over is a *socket.Conn, which is no
//     *net.TCPConn. If the client closes its sending side, the handler is cancelled, and its
//     reads and writes of the connection fail, unless rondo.Shield is around them.
//   - A Server sends what is written no later than net/http, and sometimes earlier.
package httptask
