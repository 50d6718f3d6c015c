// Package socket brings TCP, UDP and Unix sockets to the tasks of a loop:
// Listen, ListenPacket, Dial, servers with graceful shutdown, TLS, in-memory
// pipes, and readiness of any file descriptor.
//
//	rondo.Run(ctx, func(ctx context.Context) error {
//		l, err := socket.Listen(ctx, "tcp", ":7000")
//		if err != nil {
//			return err
//		}
//		return socket.Serve(ctx, l, func(ctx context.Context, c net.Conn) error {
//			_, err := io.Copy(c, c)
//			return err
//		})
//	})
//
// # Handler, Session, Protocol
//
// A server can serve its connections in three ways:
//
//	                    Handler              Session               Protocol
//	code                one function a       one function a        callbacks
//	                    connection           request
//	may wait            yes                  yes                   no: it starts tasks
//	idle connection     a task, 4 kB         no task, 0.7 kB       no task, 0.3 kB
//	TLS                 yes                  yes, NewTLSListener   no
//	state between       local variables      a closure             Transport.Value
//	requests
//
// In all three a failure ends its connection and nothing else: an error of a Handler or a
// Session, a panic, an error of a task that was started with their ctx or with Transport.Context.
// It goes to OnError once. When the Handler, the call of a Session or Lost has returned, the
// tasks that were started with its ctx are cancelled and waited for.
//
// Use Server.Handler if nothing speaks against it: any code that takes a net.Conn
// can be a handler. Use Server.Session for requests and answers over many
// connections that are mostly idle, or if each request should cost as little as
// possible. Use Protocol if the data is handled as it comes, in pieces, and
// every byte of memory counts.
//
// # Tasks
//
// A Conn is a net.Conn, so any code that reads and writes one runs in a task
// unchanged: bufio, encoding/json, net/textproto. Where it would block a
// goroutine, it suspends the task.
//
// Functions without a ctx never suspend, except methods whose signature an
// interface or a package of the standard library fixes: Read, Write, Accept and
// the like, and TLSConn.Handshake. These end when the innermost scope of the
// task is cancelled, so a rondo.Timeout around them is enough. In a scope that
// is cancelled already they fail at once. To write in a clean-up, use a
// rondo.Shield.
//
// # Other goroutines
//
// Any goroutine may use a connection, a listener or a datagram socket. A task of
// its loop is suspended; any other goroutine blocks alone, as with package net.
// So a library that reads a connection on its own goroutines works while a task
// waits for it.
//
// The trap is the reverse: a task that waits for a goroutine by a channel or a
// sync.Mutex stops its loop. The same happens with a sync.Mutex that another,
// suspended task holds. And a task of another loop counts as any other
// goroutine: it blocks, and its loop stops meanwhile. Open a socket with a ctx of
// the loop that uses it.
//
// # TLS
//
// Use TLSConn: TLSServer, TLSClient, DialTLS or NewTLSListener. Any number of
// tasks and goroutines may use one at once.
//
// A tls.Conn has mutexes inside, so only one task at a time may use it. Two tasks in its first
// Read or Write meet at the handshake. And a Read may have to answer a damaged record or a
// change of keys (RFC 8446, sections 4.6.3 and 6.2): then it waits for the mutex of a suspended
// Write. In both cases the loop stops. A Server does the handshake of a tls.Conn before it
// calls the handler.
//
// # Types
//
// Listen returns a *Listener and DialTLS a *TLSConn, because each has methods
// that no interface of package net has. Dial returns a net.Conn because the
// network decides whether it is a *Conn or a *PacketConn. ListenPacket returns a
// net.PacketConn, as in package net; it is always a *PacketConn. NewTLSListener
// returns a net.Listener, as tls.NewListener does: it has no other methods.
//
// # Systems
//
// On systems with epoll(7) or kqueue(2), tasks use non-blocking descriptors. On
// other systems, and with -tags rondo_portable, the same operations run on
// goroutines over package net, and each connection of a Protocol has a
// goroutine.
package socket
