//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// served runs a loop in which two tasks wait for each other and one sleeps, and calls f with the
// URL of a handler that shows it.
func served(t *testing.T, f func(at string)) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(usualPath, inspect.Handler())
	server := httptest.NewServer(mux)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var loop *rondo.Loop
	ready, over := make(chan bool), make(chan error)
	go func() {
		over <- rondo.Run(ctx, func(ctx context.Context) error {
			return rondo.Group(ctx, func(g *rondo.Scope) error {
				var second *rondo.Task
				first := g.Go(func(ctx context.Context) error { return second.Wait(ctx) })
				second = g.Go(func(ctx context.Context) error { return first.Wait(ctx) })
				first.SetName("first")
				second.SetName("second")
				g.Go(func(ctx context.Context) error {
					for first.Info().State != "waiting" || second.Info().State != "waiting" {
						if err := rondo.Yield(ctx); err != nil {
							return err
						}
					}
					loop = rondo.LoopOf(ctx)
					close(ready)
					return rondo.Sleep(ctx, time.Hour)
				}).SetName("sleeper")
				return nil
			})
		})
	}()
	// What is posted runs when no task does: then the last one sleeps, too.
	asleep := make(chan bool)
	<-ready
	if err := loop.Post(func() { close(asleep) }); err != nil {
		t.Fatal(err)
	}
	<-asleep
	f(server.URL)
	cancel()
	<-over
}

// TestRemote looks at a program by its URL with each verb that looks once, with the exit status
// that a process would have.
func TestRemote(t *testing.T) {
	served(t, func(at string) {
		for args, want := range map[string]struct {
			status int
			has    []string
		}{
			"ps":                         {exitDone, []string{"sleeper", "task #", "second"}},
			"ps --filter sleeper":        {exitDone, []string{"sleeper"}},
			"ps --json":                  {exitDone, []string{`"name":"sleeper"`, `"stack":`}},
			"tree":                       {exitCycle, []string{"CYCLE: ", "remote_test.go:"}},
			"check":                      {exitWarned, []string{"CYCLE: "}},
			"locks":                      {exitDone, []string{"first"}},
			"flame --folded":             {exitDone, []string{"sleep"}},
			"record --for 1ms --stacks":  {exitDone, []string{`"name":"sleeper"`}},
			"top":                        {exitFailed, []string{"rondo ps " + at + usualPath + " writes the tasks once"}},
			"tree --core x":              {exitUsage, []string{"not both " + at}},
			"check --wait 1h --max-time": {exitUsage, []string{"--max-time"}},
		} {
			status, out, failed := invoke(append(strings.Fields(args), at)...)
			for _, text := range want.has {
				if status != want.status || !strings.Contains(out+failed, text) {
					t.Errorf("%s: status %d, want %d with %q:\n%s%s", args, status, want.status, text, out, failed)
				}
			}
		}
		u, err := parseURL(at)
		if err != nil {
			t.Fatal(err)
		}
		r, err := openURL(u, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []inspect.Options{{}, {StacksOf: []uint64{2}}, {Stacks: true}} {
			p, err := r.Snapshot(o)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range p.Loops[0].Tasks {
				if want := o.Stacks || len(o.StacksOf) > 0 && k.ID == 2; want != (len(k.Stack) > 0) {
					t.Errorf("with %+v #%d has the stack %v", o, k.ID, k.Stack)
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFlameEndsEarly: when a look fails, what was seen before it is drawn, and the error reported.
func TestFlameEndsEarly(t *testing.T) {
	served(t, func(string) {
		looked := false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if looked {
				http.Error(w, "out of order", http.StatusInternalServerError)
				return
			}
			looked = req.URL.Query().Get("format") == "flight"
			inspect.Handler().ServeHTTP(w, req)
		}))
		defer server.Close()
		status, out, failed := invoke("flame", "--wall", "1h", "--every", "100ms", "--folded", server.URL+usualPath)
		if status != exitFailed || !strings.Contains(out, "[sleep]") || !strings.Contains(failed, "it ended early") || !strings.Contains(failed, "out of order") {
			t.Errorf("status %d, error %q\n%s", status, failed, out)
		}
	})
}

// TestRemoteFlight: the flight record comes from a handler, too.
func TestRemoteFlight(t *testing.T) {
	server := httptest.NewServer(inspect.Handler())
	defer server.Close()
	if status, _, failed := invoke("record", "--last", "1h", server.URL); status != exitFailed || failed != "rondo record: no loop is running in it\n" {
		t.Errorf("without a loop: status %d, %q", status, failed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over, begun := make(chan error), make(chan bool)
	go func() {
		over <- rondo.Run(ctx, func(ctx context.Context) error {
			close(begun)
			for range rondo.Every(ctx, time.Millisecond) {
			}
			return nil
		})
	}()
	<-begun
	for { // until the loop is old enough for a record
		status, out, failed := invoke("record", "--last", "1h", server.URL+"/")
		if status == exitDone {
			if !strings.Contains(out, `"ph":"X"`) || !strings.Contains(failed, " steps of 1 tasks in ") {
				t.Errorf("%q, %.300s", failed, out)
			}
			break
		}
		if !strings.Contains(failed, "no flight record") && !strings.Contains(failed, " 0 steps") {
			t.Errorf("status %d, %q", status, failed)
			break
		}
	}
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) && err != nil {
		t.Error(err)
	}
	if status, _, failed := invoke("record", "--last", "0s", server.URL); status != exitUsage && status != exitFailed {
		t.Errorf("no time: status %d, %q", status, failed)
	}
}

// TestRemoteRefused: what answers with something else is refused in a sentence without a secret.
func TestRemoteRefused(t *testing.T) {
	asked := make(chan *http.Request, 100)
	mux := http.NewServeMux()
	for path, answer := range map[string]http.HandlerFunc{
		"/debug/rondo": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"/moved":       func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, "/other", http.StatusFound) },
		"/no":          func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "go \x1b[2J away", http.StatusForbidden) },
		"/page":        func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"/broken": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{")
		},
		"/endless": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for fill := bytes.Repeat([]byte{' '}, 1<<16); ; {
				if _, err := w.Write(fill); err != nil {
					return
				}
			}
		},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) { asked <- req; answer(w, req) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	secret := strings.Replace(server.URL, "://", "://me:secret@", 1)
	for at, want := range map[string]string{
		secret:                         "wants to know who asks: set RONDO_TOKEN, or put user:password@ before the host",
		secret + "/moved":              "leads to /other, which is not followed: name that one",
		secret + "/no":                 "answers 403 Forbidden: go ?[2J away",
		secret + "/page":               "is no handler of package inspect",
		secret + "/broken":             "not a snapshot",
		secret + "/endless":            "has more than 1000000 bytes",
		"http://127.0.0.1:1":           "cannot be reached",
		"http://me:secret@example.com": "is not sent to example.com in the clear",
		"ftp://127.0.0.1":              "a URL begins with http:// or https://",
		"http://":                      "a URL begins with http:// or https://",
	} {
		status, out, failed := invoke("ps", "--max-memory", "1", at)
		if status == exitDone || out != "" || !strings.Contains(failed, want) || strings.Contains(failed, "secret") {
			t.Errorf("%s: status %d, want one that has failed with %q:\n%s%s", at, status, want, out, failed)
		}
	}
	for len(asked) > 0 {
		if user, password, _ := (<-asked).BasicAuth(); user != "me" || password != "secret" {
			t.Errorf("it was asked by %q, %q", user, password)
		}
	}
	t.Setenv(tokenName, "letmein")
	if status, _, _ := invoke("ps", server.URL); status != exitFailed {
		t.Errorf("with a token the status is %d", status)
	}
	if req := <-asked; req.Header.Get("Authorization") != "Bearer letmein" {
		t.Errorf("it was asked with %q", req.Header.Get("Authorization"))
	}
	if _, _, failed := invoke("ps", "http://example.com"); !strings.Contains(failed, "is not sent to example.com in the clear") {
		t.Errorf("a token for http://example.com: %s", failed)
	}
}

// answering returns the URL of a server that answers with p.
func answering(t *testing.T, p *inspect.Program) string {
	t.Helper()
	var text bytes.Buffer
	if err := p.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text.Bytes()) // the client says what is missing
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestRemotePrintable: no text of what answers disturbs the terminal.
func TestRemotePrintable(t *testing.T) {
	p := &inspect.Program{Go: "go1.26\x1b[2J", Loops: []*inspect.Loop{{Name: "lo\x1bop", Tasks: []*inspect.Task{{
		ID: 1, Name: "na\x1b]2;x\ame", State: "waiting", What: "lock", Waiting: "lock \u202e", Func: "main.\x1bf",
		Stack: []inspect.Frame{{Func: "main.\x1bg", File: "/\x1b/main.go", Line: 3}}, Site: &inspect.Frame{Func: "main.\x1bh"},
	}}}}}
	url := answering(t, p)
	for _, verb := range []string{"ps", "tree", "check", "locks"} {
		_, out, failed := invoke(verb, url)
		if out == "" || strings.ContainsAny(out+failed, "\x1b\a\u202e") {
			t.Errorf("%s writes %q, %q", verb, out, failed)
		}
	}
}

// TestRemoteLacksTasks: of a program with more tasks than an answer has nobody can say that nothing
// looks wrong.
func TestRemoteLacksTasks(t *testing.T) {
	p := &inspect.Program{Go: "go1.26", Loops: []*inspect.Loop{{Name: "large", Exact: true, Omitted: 50_000}}}
	url := answering(t, p)
	for verb, want := range map[string]int{"check": exitUnread, "tree": exitDone, "ps": exitDone} {
		status, out, failed := invoke(verb, url)
		if status != want || failed != "" || !strings.Contains(out, "; the answer lacks 50,000 tasks\n") || strings.Contains(out, "Nothing looks wrong") {
			t.Errorf("%s: status %d, want %d, %q\n%s", verb, status, want, failed, out)
		}
	}
}

// TestRemoteErrorPrintable: nor does an error that quotes what has come.
func TestRemoteErrorPrintable(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"a \x1b[2J name"}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, is, is, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(inspect.Handler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	at := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	if status, _, failed := invoke("ps", at); status != exitFailed || !strings.Contains(failed, "certificate is valid for a ?[2J name, not localhost") {
		t.Errorf("status %d, %q", status, failed)
	}
}

// TestRemoteSilent: a program that does not answer keeps no verb from its end.
func TestRemoteSilent(t *testing.T) {
	asked := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		asked <- true
		<-req.Context().Done()
	}))
	t.Cleanup(server.Close)
	for _, args := range []string{"record", "flame --wall 1h"} {
		c := start(t, append(strings.Fields(args), server.URL)...)
		<-asked
		c.signal(os.Interrupt)
		c.end()
		if said := c.stderr.String(); c.ProcessState.ExitCode() != exitFailed || !strings.Contains(said, "it was ended before it had seen anything") {
			t.Errorf("%s has ended with %v and %q", args, c.ProcessState, said)
		}
	}
	r := opened(t, server.URL)
	src, over := &source{target: r}, make(chan snapshot)
	go func() { over <- src.take(wish{}) }()
	<-asked
	if err := src.close(); err != nil {
		t.Error(err)
	}
	if s := <-over; s.err == nil || !strings.Contains(s.err.Error(), context.Canceled.Error()) {
		t.Errorf("the snapshot that was asked for at the end of top failed with %v", s.err)
	}
}

// opened returns what a verb reads that is given the URL.
func opened(t *testing.T, url string) *remote {
	t.Helper()
	u, err := parseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	r, err := openURL(u, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRemoteFlightPrintable: nor does what the tasks did, of which a flame graph has the kinds.
func TestRemoteFlightPrintable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"Loops":[{"Name":"a\u001b","Lost":"b\u001b","Steps":[{"Name":"c\u001b","Kind":"d\u001b"}]}]}`))
	}))
	t.Cleanup(server.Close)
	r := opened(t, server.URL)
	defer r.Close()
	if f, err := r.Flight(time.Second); err != nil || fmt.Sprint(f.Loops) != "[{0 a? [{0 c? d? 0s 0s false 0 0s}] b?}]" {
		t.Errorf("%v, %v", f, err)
	}
}

// TestIsLocal: only this machine is asked with a secret in the clear.
func TestIsLocal(t *testing.T) {
	for at, want := range map[string]bool{
		"http://localhost:80": true, "http://127.0.0.9": true, "http://[::1]:80": true,
		"http://localhost.example.com": false, "http://10.0.0.1": false, "http://[fe80::1]": false, "http://127.0.0.1.example.com": false,
	} {
		u, err := url.Parse(at)
		if err != nil || isLocal(u.Hostname()) != want {
			t.Errorf("%s is local: %v, want %v (%v)", at, !want, want, err)
		}
	}
}
