// Package socket brings TCP, UDP and Unix sockets to the tasks of a loop: Listen,
// ListenPacket, Dial, servers with an orderly end, in-memory pipes, and readiness
// of any file descriptor.
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
// A Conn is a net.Conn, so whatever reads and writes one runs in a task as it
// is: bufio, crypto/tls, encoding/json, net/textproto. Where it would block a
// goroutine, it suspends the task. Reads and writes take no ctx; they end when
// the scope does that the task is in, so a rondo.Timeout around them is enough.
// At the start of a scope that is cancelled they fail at once: a farewell that
// must be said needs a rondo.Shield.
//
// Connections, listeners and sockets of datagrams have two faces. Tasks of their
// loop are suspended; every other goroutine may use them too, and blocks alone, as
// with package net. A task of another loop is such a goroutine, and its loop stands
// still meanwhile: what a loop is to use is made with a ctx of that loop. So a library that reads a connection on goroutines of its own works while a
// task waits for it. What a program can be caught in is the reverse: a task that
// waits for a goroutine by a channel or a sync.Mutex stops its loop. The same
// goes for a sync.Mutex that another task holds while it is suspended.
//
// A tls.Conn has some inside, so it is for one task at a time: two that come to its
// handshake meet there, and a Read that must answer, to a record that is damaged or to
// a change of keys (RFC 8446, sections 4.6.3 and 6.2), waits for the lock of a Write that
// is suspended, and the loop with it. TLSConn, by TLSServer, TLSClient, DialTLS or
// NewTLSListener, is crypto/tls for as many tasks as one likes.
//
// Where the system has epoll(7) or kqueue(2), tasks use descriptors that do not
// block. Elsewhere, and with -tags rondo_portable, the same operations run on
// goroutines over package net, and a Protocol has one for each connection.
package socket
