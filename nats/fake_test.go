package nats

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A fake is as much of a server as tests need that hold up the client at one moment. It
// has one client at a time, and knows no wildcards but a last one, and no queues.
type fake struct {
	net.Listener
	mu   sync.Mutex
	conn net.Conn
	sids map[string]string // by subject
	mute atomic.Bool       // it answers no ping
}

func newFake(t *testing.T) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{Listener: l, sids: make(map[string]string)}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { f.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return f
}

func (f *fake) url() string { return "nats://" + f.Addr().String() }

// serve reads what the client sends until it leaves.
func (f *fake) serve(c net.Conn) {
	defer c.Close()
	f.mu.Lock()
	f.conn = c
	f.mu.Unlock()
	f.say(`INFO {"server_id":"fake","version":"2.15.0","proto":1,"headers":true,"max_payload":1048576}` + "\r\n")
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		switch words := strings.Fields(line); words[0] {
		case "PING":
			if !f.mute.Load() {
				f.say("PONG\r\n")
			}
		case "SUB":
			f.mu.Lock()
			f.sids[strings.TrimSuffix(words[1], "*")] = words[len(words)-1]
			f.mu.Unlock()
		case "PUB":
			n, _ := strconv.Atoi(words[len(words)-1])
			data := make([]byte, n+2)
			if _, err := io.ReadFull(in, data); err != nil {
				return
			}
			f.send("MSG", words[1], words[2:len(words)-1], string(data[:n]), 1)
		case "HPUB": // the bytes of the header and of all come last
			n, _ := strconv.Atoi(words[len(words)-1])
			data := make([]byte, n+2)
			if _, err := io.ReadFull(in, data); err != nil {
				return
			}
			f.send("HMSG", words[1], words[2:len(words)-1], string(data[:n]), 1)
		}
	}
}

// deliver sends the client n messages.
func (f *fake) deliver(subject, data string, n int) { f.send("MSG", subject, nil, data, n) }

// send sends the client n messages. more is what comes before the number of their bytes.
func (f *fake) send(verb, subject string, more []string, data string, n int) {
	f.mu.Lock()
	sid := cmp.Or(f.sids[subject], f.sids[subject[:strings.LastIndexByte(subject, '.')+1]])
	f.mu.Unlock()
	if sid != "" {
		words := strings.Join(append([]string{verb, subject, sid}, more...), " ")
		f.say(strings.Repeat(fmt.Sprintf("%s %d\r\n%s\r\n", words, len(data), data), n))
	}
}

func (f *fake) say(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = io.WriteString(f.conn, text) // it fails only if the client has left
}
