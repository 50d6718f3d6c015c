package cookbook_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/rondo-go/rondo/examples/internal/program"
	"github.com/rondo-go/rondo/examples/internal/talk"
)

// A start starts the program under test.
type start func(args ...string) *program.Process

// tries has what each program is put through.
var tries = map[string]func(t *testing.T, run start){
	"balancer": tryBalancer, "crawl": tryCrawl, "cron": tryCron, "dns": tryDNS, "fanin": tryFanin,
	"files": tryFiles, "game": tryGame, "heartbeat": tryHeartbeat, "limiter": tryLimiter,
	"pipe": tryPipe, "pubsub": tryPubsub, "redis": tryRedis, "reload": tryReload,
	"retry": tryRetry, "web": tryWeb, "workers": tryWorkers, "wschat": tryWschat,
}

// serve starts a server under test.
func serve(t *testing.T, run start, args ...string) (p *program.Process, address string) {
	t.Helper()
	p = run(append([]string{"localhost:0"}, args...)...)
	return p, talk.Address(t, p)
}

// end interrupts a program, which must end with status 0.
func end(t *testing.T, p *program.Process) {
	t.Helper()
	p.Interrupt()
	if out, errors, code := p.Wait(); code != 0 {
		t.Errorf("it ended with status %d\n%s\n%s", code, out, errors)
	}
}

// backend accepts connections and sends each a line, until the test is over.
func backend(t *testing.T, line string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if line == "" {
				c.Close()
				continue
			}
			fmt.Fprintln(c, line)
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String()
}

func tryBalancer(t *testing.T, run start) {
	p, address := serve(t, run, backend(t, "one"), talk.Nobody, backend(t, "two"))
	heard := make(map[string]int)
	for len(heard) < 2 { // until the balancer knows that both are up
		clear(heard)
		clients := []*talk.Client{talk.Dial(t, address), talk.Dial(t, address)}
		for _, c := range clients {
			line, _ := bufio.NewReader(c).ReadString('\n')
			if line != "" {
				heard[line]++
			}
		}
		for _, c := range clients {
			c.Close()
		}
	}
	end(t, p)
}

func tryCrawl(t *testing.T, run start) {
	links := map[string]string{"/": "/a /b", "/a": "/b /c", "/b": "/", "/c": "/d", "/d": ""}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, to := range strings.Fields(links[r.URL.Path]) {
			fmt.Fprintf(w, "<a href=%q>", to)
		}
	}))
	defer site.Close()
	out, errors, code := run(site.URL + "/").Wait()
	for path := range links {
		if strings.Count("\n"+out, "\n"+path+" ") != 1 {
			t.Errorf("%s was not visited once", path)
		}
	}
	if code != 0 || t.Failed() {
		t.Errorf("status %d\n%s\n%s", code, out, errors)
	}
}

func tryCron(t *testing.T, run start) {
	p := run()
	want := []string{"^tick <nil>$", "^fails no disk$", "^hangs context deadline exceeded$", "^panics .*lost$"}
	for len(want) > 0 { // however late the process is, each comes again
		line := p.Line()
		want = slices.DeleteFunc(want, func(w string) bool { return regexp.MustCompile(w).MatchString(line) })
	}
	end(t, p)
}

func tryDNS(t *testing.T, run start) {
	p, address := serve(t, run)
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	q := dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: []dnsmessage.Question{{
		Name: dnsmessage.MustNewName("go.dev."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	packed, err := q.Pack()
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{[]byte("junk"), packed} {
		if _, err := c.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 1500)
	n, err := c.Read(buf)
	var a dnsmessage.Message
	if err != nil || a.Unpack(buf[:n]) != nil || a.ID != 7 || len(a.Answers) != 1 {
		t.Errorf("%v: %v", err, a)
	}
	end(t, p)
}

func tryFanin(t *testing.T, run start) {
	p := run()
	out, errors, code := p.Wait()
	lines := strings.Fields(out)
	slices.Sort(lines)
	if want := []string{"a0", "a1", "a2", "b0", "b1"}; code != 0 || !slices.Equal(lines, want) {
		t.Errorf("status %d, %q\n%s", code, lines, errors)
	}
}

func tryFiles(t *testing.T, run start) {
	dir := t.TempDir()
	var want string
	for i := range 20 {
		path := filepath.Join(dir, fmt.Sprintf("%02d", i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		want += "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  " + path + "\n"
	}
	if out, errors, code := run(dir).Wait(); out != want || code != 0 {
		t.Errorf("status %d\n%s\n%s", code, out, errors)
	}
	if _, _, code := run(t.TempDir()).Wait(); code != 0 {
		t.Errorf("a folder without files ends with status %d", code)
	}
	if _, errors, code := run(filepath.Join(dir, "none")).Wait(); code != 1 || !strings.Contains(errors, "none: no such file") {
		t.Errorf("a folder that is not there ends with status %d: %s", code, errors)
	}
}

func tryGame(t *testing.T, run start) {
	p, address := serve(t, run)
	ann, deaf := talk.Dial(t, address), talk.Dial(t, address)
	deaf.Says("l")
	ann.Says("r")
	me := regexp.MustCompile(regexp.QuoteMeta(ann.LocalAddr().String()) + `":{"X":[1-9]`)
	other := regexp.MustCompile(regexp.QuoteMeta(deaf.LocalAddr().String()) + `":{"X":-`)
	for line := ""; !me.MatchString(line) || !other.MatchString(line); line = ann.Line() {
	}
	ann.Leaves()
	for { // the state that comes last
		if _, err := ann.Read(make([]byte, 512)); err != nil {
			break
		}
	}
	end(t, p)
}

// tryHeartbeat has a client that is silent. The pings, and a client that answers, are in a test
// beside the program, in a simulation: a process may be late for either.
func tryHeartbeat(t *testing.T, run start) {
	p, address := serve(t, run)
	silent := talk.Dial(t, address)
	if got := p.Line(); !strings.HasPrefix(got, "disconnected: ") {
		t.Errorf("it says %q", got)
	}
	if _, err := io.Copy(io.Discard, silent); err != nil {
		t.Error(err)
	}
	end(t, p)
}

func tryLimiter(t *testing.T, run start) {
	out, errors, code := run().Wait()
	if n := strings.Count(out, "\n"); code != 0 || n != 20 {
		t.Errorf("status %d, %d lines\n%s", code, n, errors)
	}
}

func tryPipe(t *testing.T, run start) {
	const sum = "8060aa0ac20a3e5db2b67325c98a0122f2d09a612574458225dcb9a086f87cc3" // of seq 10000 | sha256sum
	if out, errors, code := run("10000").Wait(); out != sum+"  -\n10000 lines\n" || code != 0 {
		t.Errorf("status %d\n%s\n%s", code, out, errors)
	}
}

func tryPubsub(t *testing.T, run start) {
	p, address := serve(t, run)
	ann, bob := talk.Dial(t, address), talk.Dial(t, address)
	ann.Says("SUB news")
	ann.Hears("OK")
	bob.Says("PUB weather rain", "PUB news it is out")
	bob.Hears("OK", "OK")
	ann.Hears("news: it is out")
	ann.Leaves()
	ann.Ends()
	bob.Leaves()
	bob.Ends()
	end(t, p)
}

// tryRedis has a server that knows as much of Redis as the program needs, and in which each
// counter has its name as its value.
func tryRedis(t *testing.T, run start) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerRedis(c)
		}
	}()
	args, want := []string{l.Addr().String()}, ""
	for i := range 100 {
		args = append(args, strconv.Itoa(i))
		want += fmt.Sprintln(i + 1)
	}
	if out, errors, code := run(args...).Wait(); out != want || code != 0 {
		t.Errorf("status %d\n%s\n%s", code, out, errors)
	}
}

func answerRedis(c net.Conn) {
	defer c.Close()
	in := bufio.NewScanner(c)
	for in.Scan() { // *n, then $length and value n times
		var n int
		if _, err := fmt.Sscanf(in.Text(), "*%d", &n); err != nil {
			return
		}
		words := make([]string, n)
		for i := range words {
			in.Scan()
			in.Scan()
			words[i] = in.Text()
		}
		switch strings.ToUpper(words[0]) {
		case "INCR":
			v, err := strconv.Atoi(words[1])
			if err != nil {
				return
			}
			fmt.Fprintf(c, ":%d\r\n", v+1)
		case "HELLO":
			fmt.Fprint(c, "-ERR unknown command\r\n")
		default:
			fmt.Fprint(c, "+OK\r\n")
		}
	}
}

func tryReload(t *testing.T, run start) {
	path := filepath.Join(t.TempDir(), "greeting")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("hello\n")
	p, address := serve(t, run, path)
	talk.Dial(t, address).Hears("hello")
	write("good evening\n")
	p.Signal(syscall.SIGHUP)
	if line := p.Line(); line != "reloaded <nil>" {
		t.Errorf("it says %q", line)
	}
	talk.Dial(t, address).Hears("good evening")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGHUP)
	if line := p.Line(); !strings.Contains(line, "no such file") {
		t.Errorf("it says %q", line)
	}
	talk.Dial(t, address).Hears("good evening")
	end(t, p)
}

func tryRetry(t *testing.T, run start) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if n < 2 { // reset
				c.(*net.TCPConn).SetLinger(0)
			} else {
				io.WriteString(c, "here")
			}
			c.Close()
		}
	}()
	if out, errors, code := run(l.Addr().String()).Wait(); out != "here after 3 tries\n" || code != 0 {
		t.Errorf("status %d\n%s\n%s", code, out, errors)
	}
}

func tryWeb(t *testing.T, run start) {
	p, address := serve(t, run)
	defer http.DefaultClient.CloseIdleConnections()
	get := func(path string) string {
		a, err := http.Get("http://" + address + path)
		if err != nil {
			return err.Error()
		}
		defer a.Body.Close()
		body, _ := io.ReadAll(a.Body)
		return string(body)
	}
	if got := get("/ann") + get("/ann") + get("/bob"); got != "ann 1\nann 2\nbob 1\n" {
		t.Errorf("it answers %q", got)
	}
	c := talk.Dial(t, address)
	c.Says("GET /slow HTTP/1.0\r\n\r")
	p.Line() // the slow one runs now
	p.Interrupt()
	if text, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(text), "done\n") {
		t.Errorf("after the signal: %q, %v", text, err)
	}
	if _, errors, code := p.Wait(); code != 0 {
		t.Errorf("status %d\n%s", code, errors)
	}
}

func tryWorkers(t *testing.T, run start) {
	if out, errors, code := run("1000").Wait(); out != "168 primes\n" || code != 0 {
		t.Errorf("status %d\n%s\n%s", code, out, errors)
	}
}

func tryWschat(t *testing.T, run start) {
	p, address := serve(t, run)
	dial := func() net.Conn {
		c, _, _, err := ws.Dial(context.Background(), "ws://"+address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	says := func(c net.Conn, line string) {
		t.Helper()
		if err := wsutil.WriteClientText(c, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	hears := func(c net.Conn, want string) {
		t.Helper()
		for got := ""; got != want; { // what others said before is not wanted
			text, err := wsutil.ReadServerText(c)
			if got = string(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	ann, bob := dial(), dial()
	says(ann, "I am ann")
	hears(ann, "I am ann")
	says(bob, "I am bob")
	hears(bob, "I am bob")
	hears(ann, "I am bob")
	says(ann, "hello")
	hears(bob, "hello")
	greedy := dial() // announces more than anyone may say
	if err := ws.WriteHeader(greedy, ws.Header{Fin: true, OpCode: ws.OpText, Masked: true, Length: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	if err := greedy.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, greedy); err != nil {
		t.Errorf("it is not disconnected: %v", err)
	}
	for _, c := range []net.Conn{ann, bob} {
		if err := wsutil.WriteClientMessage(c, ws.OpClose, nil); err != nil {
			t.Fatal(err)
		}
	}
	end(t, p)
}
