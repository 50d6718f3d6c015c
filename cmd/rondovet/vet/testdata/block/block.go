// Package block blocks loops.
package block

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/socket"

	"example.com/mistakes/helper"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

func serve(ctx context.Context, db *sql.DB) error {
	server := &socket.Server{Handler: handle, OnError: func(net.Conn, error) {}}
	mux := http.NewServeMux()
	mux.HandleFunc("/", page)
	mux.Handle("/hello", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(1) // want `time.Sleep stops the loop`
	}))
	mux.Handle("/files/", httptask.Blocking(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(1) // on a goroutine
	})))
	mux.Handle("/site", &site{})
	other := http.NewServeMux()
	other.Handle("/elsewhere", &moved{})
	other.HandleFunc("/", plain)
	go http.ListenAndServe(":1", other)
	web := httptask.Server{HTTP: http.Server{Handler: mux}}
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		g.Go(web.ListenAndServe)
		g.Go(func(context.Context) error { return query(db) })
		l, err := socket.Listen(g, "tcp", ":0")
		if err != nil {
			return err
		}
		return server.Serve(g, l)
	})
}

// A site is a handler for a task, and moved one for a goroutine.
type (
	site  struct{}
	moved struct{}
)

func (*site) ServeHTTP(http.ResponseWriter, *http.Request) {
	time.Sleep(1) // want `time.Sleep stops the loop`
}

func (*moved) ServeHTTP(http.ResponseWriter, *http.Request) { time.Sleep(1) }

func page(http.ResponseWriter, *http.Request) {
	time.Sleep(1) // want `time.Sleep stops the loop`
}

func plain(http.ResponseWriter, *http.Request) { time.Sleep(1) }

// query is a task because one calls it.
func query(db *sql.DB) error {
	rows, err := db.Query("select 1") // want `sql.DB.Query stops the loop, because this runs in a task: use rondo.Offload`
	if err != nil {
		return err
	}
	for rows.Next() { // want `sql.Rows.Next stops the loop`
	}
	return rows.Close()
}

func programs(ctx context.Context) error {
	if err := exec.Command("true").Run(); err != nil { // want `exec.Cmd.Run stops the loop, because this runs in a task: use process.Command`
		return err
	}
	helper.Block()                       // want `helper.Block, in which time.Sleep blocks, stops the loop, because this runs in a task: use rondo.Offload`
	_, err := new(helper.Client).Fetch() // want `helper.Client.Fetch, in which net.Dial blocks, stops the loop`
	helper.Quick()
	if err != nil {
		return err
	}
	return helper.Pause(ctx)
}

func clients(ctx context.Context) error {
	if _, err := http.Get("http://localhost"); err != nil { // want `http.Get stops the loop, because this runs in a task: use httptask.Client`
		return err
	}
	if _, err := http.DefaultClient.Get("http://localhost"); err != nil { // want `http.Client.Get stops the loop, because this runs in a task: use httptask.Client`
		return err
	}
	own := &http.Client{Timeout: time.Second}
	if _, err := own.Get("http://localhost"); err != nil { // want `http.Client.Get stops the loop`
		return err
	}
	if _, err := httptask.Client(ctx).Get("http://localhost"); err != nil {
		return err
	}
	right := http.Client{Transport: httptask.Transport(ctx, nil)}
	_, err := right.Get("http://localhost")
	var late http.Client
	late.Transport = httptask.Transport(ctx, nil)
	if err == nil {
		_, err = late.Get("http://localhost")
	}
	return errors.Join(err, rondo.Yield(ctx))
}

type room struct {
	mu    sync.RWMutex
	conns []net.Conn
}

func (r *room) say(ctx context.Context, text string) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, c := range r.conns {
		if _, err := c.Write([]byte(text)); err != nil { // want `c.Write waits while r.mu, a sync.RWMutex, is locked in line 125: the next task that locks it stops the loop: use rondo.RWMutex`
			return err
		}
	}
	return rondo.Yield(ctx)
}

func (r *room) join(ctx context.Context, c net.Conn) error {
	r.mu.Lock()
	if len(r.conns) > 9 {
		r.mu.Unlock()
		return rondo.Sleep(ctx, 1)
	}
	r.conns = append(r.conns, c)
	r.mu.Unlock()
	return rondo.Sleep(ctx, 1)
}

func (r *room) literal(ctx context.Context) error {
	r.mu.Lock()
	defer func() { r.mu.Unlock() }()
	return rondo.Sleep(ctx, 1) // want `rondo.Sleep waits while r.mu, a sync.RWMutex, is locked in line 147`
}

// elsewhere is called by no task.
func elsewhere(in chan int) {
	time.Sleep(1)
	<-in
}

// filled calls what is named like the builtin, and filledToo receives what is there.
func filled(ctx context.Context) error {
	close := func() {}
	close()
	return filledToo(ctx)
}

func filledToo(ctx context.Context) error {
	slots, done, later := make(chan int, 1), make(chan bool), make(chan bool)
	slots <- 1
	err := rondo.Yield(ctx)
	<-slots
	close(done)
	<-done
	for range done {
	}
	defer close(later)
	<-later // want `a receive from a channel stops the loop`
	return err
}

var errBusy = errors.New("busy")

// places has room for some tasks at a time. Each gives its place back, which never waits.
func places(ctx context.Context, sem chan bool) error {
	select {
	case sem <- true:
	default:
		return errBusy
	}
	defer func() { <-sem }()
	return rondo.Yield(ctx)
}

// collected receives what tasks have sent that have ended.
func collected(ctx context.Context) (sum int, err error) {
	out, ended := make(chan int, 3), make(chan bool)
	if err := rondo.Group(ctx, func(g *rondo.Scope) error {
		defer close(ended)
		for i := range 3 {
			g.Go(func(ctx context.Context) error { out <- i; return rondo.Yield(ctx) })
		}
		return nil
	}); err != nil {
		return 0, err
	}
	<-ended
	for range 3 {
		sum += <-out
	}
	late := make(chan int, 1)
	rondo.Go(ctx, func(ctx context.Context) error { late <- 1; return rondo.Yield(ctx) })
	return sum + <-late, nil // want `a receive from a channel stops the loop`
}

// A Fetcher has a client that others may set.
type Fetcher struct {
	Client *http.Client
	client *http.Client
}

// fetch uses the defaults of what its caller, or an importer, may set.
func (f *Fetcher) fetch(ctx context.Context, c *http.Client, l net.Listener, pause func()) error {
	if c == nil {
		c = http.DefaultClient
	}
	if f.Client == nil {
		f.Client = http.DefaultClient
	}
	if l == nil {
		l, _ = net.Listen("tcp", ":0")
	}
	if pause == nil {
		pause = func() { time.Sleep(1) }
	}
	pause()
	if f.client == nil {
		f.client = http.DefaultClient
	}
	_, first := c.Get("http://localhost")
	_, second := f.Client.Get("http://localhost")
	_, third := l.Accept()
	_, fourth := f.client.Get("http://localhost") // want `http.Client.Get stops the loop`
	return errors.Join(first, second, third, fourth, rondo.Yield(ctx))
}

// counted receives what is there, which a condition says; another channel's length says nothing.
func counted(ctx context.Context, in, other chan int) error {
	for len(in) > 0 {
		<-in
		<-other // want `a receive from a channel stops the loop`
	}
	if err := rondo.Yield(ctx); err != nil || len(in) == 1 {
		<-in
		return err
	}
	<-in // want `a receive from a channel stops the loop`
	n := len(in)
	for i := 0; i < n; i++ {
		<-in
	}
	for range len(in) {
		<-in
	}
	return nil
}

func callbacks(ctx context.Context, t *rondo.Task, in chan int) error {
	loop := rondo.LoopOf(ctx)
	loop.CallLater(time.Second, func() {
		time.Sleep(1) // want `time.Sleep stops the loop, because this runs in a callback: let it start a task with rondo.Go`
	})
	t.OnDone(func() {
		<-in // want `a receive from a channel stops the loop, because this runs in a callback`
	})
	loop.CallSoon(func() {
		go func() { time.Sleep(1) }()
	})
	time.AfterFunc(1, func() { time.Sleep(1) })
	return rondo.Yield(ctx)
}

func onces(ctx context.Context, g *singleflight.Group) error {
	var once, quick sync.Once
	once.Do(func() { _ = rondo.Sleep(ctx, 1) }) // want `sync.Once.Do with a function that waits: the next task that gets here stops the loop: use a rondo.Mutex and a bool`
	quick.Do(func() {})
	_ = sync.OnceValue(func() error { return rondo.Sleep(ctx, 1) }) // want `sync.OnceValue with a function that waits: .* use rondo.Async, whose Future all may wait for`
	_ = sync.OnceValue(func() int { return 1 })
	_, _, _ = g.Do("k", func() (any, error) { return nil, nil })
	_, err, _ := g.Do("k", func() (any, error) { return nil, rondo.Sleep(ctx, 1) }) // want `singleflight.Group.Do with a function that waits: .* use a map of Futures that rondo.Async returns`
	return err
}

func limited(ctx context.Context, l *rate.Limiter) error {
	if err := l.Wait(ctx); err != nil { // want `rate.Limiter.Wait stops the loop, because this runs in a task: use its Reserve, and rondo.Sleep for the Delay`
		return err
	}
	return rondo.Sleep(ctx, l.Reserve().Delay())
}

func typed(ctx context.Context, other io.Reader) error {
	in, lines := bufio.NewScanner(os.Stdin), bufio.NewScanner(other)
	for in.Scan() { // want `bufio.Scanner.Scan of the standard input stops the loop, because this runs in a task: use rondo.Offload`
		if !lines.Scan() {
			break
		}
	}
	if _, err := io.ReadAll(os.Stdin); err != nil { // want `io.ReadAll of the standard input`
		return err
	}
	text, err := rondo.Offload(ctx, func(context.Context) (string, error) { return bufio.NewReader(os.Stdin).ReadString('\n') })
	_ = text
	return err
}

func ends() (io.Writer, io.Reader) { return io.Discard, os.Stdin }

func copied(ctx context.Context) error {
	if _, err := io.Copy(ends()); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin) // want `io.Copy of the standard input`
	return errors.Join(err, rondo.Yield(ctx))
}
