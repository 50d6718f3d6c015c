package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
)

// number finds a number in text, after a word.
func number(t *testing.T, text, word string) int {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(word) + ` +([0-9,]+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no number after %q in\n%s", word, text)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDemo(t *testing.T) {
	t.Parallel()
	// More clients than may dial at once.
	const conns = dialling + 6
	status, out, err := invoke("demo", "--conns", strconv.Itoa(conns), "--for", "2s") // half of it is time for all to connect
	if status != exitDone || err != "" {
		t.Fatalf("status %d, error %q", status, err)
	}
	messages, switches, turns := number(t, out, "messages"), number(t, out, "switches"), number(t, out, "turns")
	if messages == 0 {
		t.Error("no messages")
	}
	// A message wakes the server's task and the client's, but for those under way
	// at the beginning and the end.
	if switches < messages || turns == 0 {
		t.Errorf("%d messages took %d switches in %d turns", messages, switches, turns)
	}
	// main, server, clients, progress, interruption, and both ends of each connection
	if got, want := number(t, out, "tasks"), 5+2*conns; got != want {
		t.Errorf("%d tasks, want %d", got, want)
	}
	for _, want := range []string{
		"70 clients and a server, on one loop, over TCP. Ctrl-C ends it early.\n",
		"\n70 clients talked for ",
		"\nThe tasks half-way through, and what they were doing:\n",
		"\nThe same with goroutines and package net, for 2 s:\n", "1 loop", "goroutines\n", "\n  messages a second ",
		"\n  main ", "\n  ├─ server ", "\n  │  └─ 70 × conn ", "\n  ├─ clients ", "\n  │  └─ 70 × client ", "\n  └─ progress ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}

// Alone, no goroutines compete.
func TestDemoAlone(t *testing.T) {
	status, out, err := invoke("demo", "--conns", "1", "--for", "1ms", "--alone")
	if status != exitDone || err != "" || strings.Contains(out, "goroutines") {
		t.Errorf("status %d, error %q, output\n%s", status, err, out)
	}
}

// The goroutines do the same work, and what they count is compared.
func TestCompete(t *testing.T) {
	d := &demo{conns: 3, length: 300 * time.Millisecond, size: 3 * piece, pattern: pattern(3 * piece)}
	if _, err := d.compete(); err != nil {
		t.Fatal(err)
	}
	d.begun = time.Unix(1000, 0)
	d.ended, d.cpu = d.begun.Add(2*time.Second), 3*time.Second
	for range 1000 {
		d.trips.record(time.Millisecond)
	}
	made := &rival{elapsed: 4 * time.Second, cpu: 2 * time.Second}
	for range 2 {
		var h histogram
		for range 250 {
			h.record(3 * time.Millisecond)
		}
		made.trips.add(&h)
	}
	golden(t, "comparison.txt", d.comparison(made)+d.comparison(new(rival)))
}

// endAfter ends a demo after so many round trips.
func (d *demo) endAfter(ctx context.Context, trips uint64) {
	rondo.Go(ctx, func(ctx context.Context) error {
		for d.trips.n < trips {
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		d.ender = "the test"
		d.end(nil)
		return nil
	})
}

// Messages of any size come back whole, and what the clients count is what the
// server sent.
func TestDemoSizes(t *testing.T) {
	for _, bytes := range []int{1, 63, piece - 1, piece, piece + 1, 2 * piece, 2*piece + 1, 1 << 20, sizeMax} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			d := &demo{conns: 3, length: time.Hour, size: bytes, pattern: pattern(bytes)}
			p := &progress{out: new(strings.Builder), columns: func() int { return 0 }}
			err := rondo.Run(t.Context(), func(ctx context.Context) error {
				d.endAfter(ctx, 4)
				return d.main(ctx, p)
			})
			if err != nil {
				t.Fatal(err)
			}
			most := int64(d.trips.n+uint64(d.conns)) * int64(bytes)
			if least, echoed := int64(d.trips.n)*int64(bytes), d.echoed; echoed < least || echoed > most {
				t.Errorf("the clients had %d messages back, and the server sent %d bytes, not between %d and %d", d.trips.n, echoed, least, most)
			}
			if out := d.summary(); !strings.Contains(out, " of 1 h 0 min, until the test ended it.\n") {
				t.Errorf("the summary is\n%s", out)
			}
		})
	}
}

// The demo ends with an error of the server.
func TestDemoServerFails(t *testing.T) {
	d := &demo{conns: 3, length: time.Hour, size: 64, pattern: pattern(64)}
	p := &progress{out: new(strings.Builder), columns: func() int { return 0 }}
	cause := errors.New("out of order")
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			if err := d.ready.Wait(ctx); err != nil {
				return err
			}
			d.serverFailed(nil, cause)
			return nil
		})
		return d.main(ctx, p)
	})
	if !errors.Is(err, cause) {
		t.Errorf("the demo ended with %v", err)
	}
}

// liar is a connection that sends back what it likes.
type liar struct {
	net.Conn
	answer []byte
	part   int // how much it sends at once; 0: what there is room for
	err    error
}

func (l *liar) Write(b []byte) (int, error) { return len(b), nil }

func (l *liar) Read(b []byte) (int, error) {
	if l.part > 0 {
		b = b[:min(l.part, len(b))]
	}
	n := copy(b, l.answer)
	l.answer = l.answer[n:]
	if n == 0 {
		return 0, l.err
	}
	return n, nil
}

func TestExchangeLooksAtWhatComesBack(t *testing.T) {
	broken := errors.New("broken")
	d := &demo{size: 3 * piece, pattern: pattern(3 * piece)}
	message := bytes.Repeat(d.pattern[:piece], 3)
	buf := make([]byte, piece)
	if err := d.exchange(&liar{answer: message}, buf); err != nil {
		t.Errorf("what was sent is refused: %v", err)
	}
	if err := d.exchange(&liar{answer: message, part: 1000}, buf); err != nil {
		t.Errorf("what was sent is refused if it comes in parts: %v", err)
	}
	changed := bytes.Clone(message)
	changed[2*piece+5]++
	if err := d.exchange(&liar{answer: changed}, buf); err == nil || !strings.Contains(err.Error(), "changed after 32,768 bytes") {
		t.Errorf("a changed byte gives %v", err)
	}
	if err := d.exchange(&liar{answer: message[1:], err: broken}, buf); err == nil || errors.Is(err, broken) {
		t.Errorf("a missing byte gives %v", err)
	}
	if err := d.exchange(&liar{answer: message[:len(message)-1], err: broken}, buf); !errors.Is(err, broken) {
		t.Errorf("an end too early gives %v", err)
	}
}

func TestDemoFits(t *testing.T) {
	for _, test := range []struct {
		conns, limit int
		want         string
	}{
		{1000, 2032, ""},
		{1000, 2031, `--conns 1000 takes two open files a connection, and a process here may have 2,031: use --conns 999, or raise the limit (ulimit -n)`},
		{1, 33, `--conns 1 takes two open files a connection, and a process here may have 33: raise the limit (ulimit -n)`},
		{1<<63 - 1, 20000, `--conns 9223372036854775807 takes two open files a connection, and a process here may have 20,000: use --conns 9984, or raise the limit (ulimit -n)`},
	} {
		got := ""
		if err := (&demo{conns: test.conns}).fits(test.limit); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%d connections with %d files: got %q, want %q", test.conns, test.limit, got, test.want)
		}
	}
	if status, _, err := invoke("demo", "--conns", strconv.Itoa(unlimited)); status != exitFailed || !strings.HasPrefix(err, "rondo demo: --conns 1073741824 takes ") {
		t.Errorf("status %d, error %q", status, err)
	}
}

// The texts of all ends that a demo can come to.
func TestSummary(t *testing.T) {
	begun := time.Unix(1000, 0)
	tasks := []rondo.TaskInfo{
		{ID: 1, Name: "main", Func: "main", State: "running"},
		{ID: 2, Parent: 1, Name: "server", Func: "serve", State: "waiting", Waiting: "accept"},
		{ID: 3, Parent: 2, Name: "conn 127.0.0.1:40000", Func: "conn", State: "waiting", Waiting: "read"},
		{ID: 4, Parent: 2, Name: "conn 127.0.0.1:40001", Func: "conn", State: "ready"},
	}
	made := func(change func(d *demo)) *demo {
		d := &demo{conns: 1000, length: 5 * time.Second, size: 64, begun: begun, ended: begun.Add(5002 * time.Millisecond), tasks: tasks, halfway: true}
		for i := range 1000 {
			d.trips.record(time.Duration(i) * 10 * time.Microsecond)
		}
		d.trips.n = 1061725
		d.after = rondo.Stats{Switches: 4255123, Turns: 12130, Busy: 4900 * time.Millisecond}
		change(d)
		return d
	}
	full := made(func(*demo) {})
	interrupted := made(func(d *demo) {
		d.ender, d.ended, d.halfway = "Ctrl-C", begun.Add(1234*time.Millisecond), false
	})
	silent := made(func(d *demo) { d.trips = histogram{} })
	early := &demo{conns: 1000, dialled: 640, length: 5 * time.Second, size: 64, ended: begun, ender: "SIGTERM", tasks: tasks}
	instant := &demo{conns: 1000, dialled: 1000, length: 5 * time.Second, size: 64, begun: begun, ended: begun, ender: "SIGTERM", tasks: tasks}
	var all strings.Builder
	for _, test := range []struct {
		name string
		d    *demo
	}{{"full", full}, {"interrupted", interrupted}, {"silent", silent}, {"early", early}, {"instant", instant}} {
		fmt.Fprintf(&all, "-- %s --\n%s", test.name, test.d.summary())
	}
	golden(t, "summary.txt", all.String())
}
