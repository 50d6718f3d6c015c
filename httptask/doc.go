// Package httptask runs handlers of net/http in the tasks of a loop, and makes
// requests of net/http from tasks.
//
// net/http does what it does best: it accepts, parses, speaks HTTP/1.1, HTTP/2 and TLS,
// and watches timeouts, on goroutines of its own. Only the handlers run on the loop,
// one at a time. So they share state without locks, they may wait as tasks do, and any
// router and middleware works.
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
// 16 KiB, or flushed, or the handler returns.
//
// Flusher, Hijacker and http.ResponseController are there if net/http has them. The
// connection of a Hijacker suspends the task too. There is no http.Pusher.
// A goroutine, such as that of rondo.Offload, may use the request and the response
// while the handler waits for it.
//
// As in any task, what blocks the goroutine stops the loop: time.Sleep, channels, a
// sync.Mutex that is held by a handler that waits, http.TimeoutHandler inside Handler
// (put it around Handler), and http.DefaultClient (use [Client]).
//
// # Where it differs from net/http
//
//   - http.MaxBytesReader in a handler limits the body, but net/http does not learn of
//     it: the connection is closed only if more than 256 KiB are left unread. Put
//     http.MaxBytesHandler around [Handler] to have it closed at once.
//   - In the log of a panic, the stack of the handler comes before that of net/http.
//   - Middleware around Handler whose ResponseWriter has no method Unwrap hides the
//     deadlines by which a cancelled task interrupts a read or write: that ends only
//     when the client, or the server, ends it. Middleware inside Handler costs less.
//   - runtime.Goexit in a handler ends the loop, as in any task.
package httptask
