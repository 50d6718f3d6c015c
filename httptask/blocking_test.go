package httptask_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
)

// inForms serves h by a Server whose connections are tasks', and by one whose connections are
// net/http's, and calls use in a task while it does.
func inForms(t *testing.T, h http.Handler, use func(ctx context.Context, client *http.Client, origin string) error) {
	for name, wrap := range map[string]func(net.Listener) net.Listener{
		"tasks":    func(l net.Listener) net.Listener { return l },
		"net/http": func(l net.Listener) net.Listener { return struct{ net.Listener }{l} },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(ctx context.Context) error {
				l := listen(t)
				s := &httptask.Server{HTTP: http.Server{Handler: h, ErrorLog: silent}}
				served := rondo.Go(ctx, func(ctx context.Context) error { return s.Serve(ctx, wrap(l)) })
				client := httptask.Client(ctx)
				err := use(ctx, client, "http://"+l.Addr().String())
				client.CloseIdleConnections()
				err = errors.Join(err, s.Shutdown(ctx))
				if end := served.Wait(ctx); !errors.Is(end, http.ErrServerClosed) {
					t.Error(end)
				}
				return err
			})
		})
	}
}

// ask sends a GET and returns the answer's body.
func ask(ctx context.Context, client *http.Client, url string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(q)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return string(b), err
}

// TestBlocking: a handler blocks until another one, in a task, lets it go on.
func TestBlocking(t *testing.T) {
	start, let := make(chan struct{}, 1), make(chan string, 1)
	mux := http.NewServeMux()
	mux.Handle("/block", httptask.Blocking(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rondo.Current(r.Context()) != nil {
			t.Error("it runs in a task")
		}
		start <- struct{}{}
		said := <-let
		fmt.Fprint(w, said, strings.Repeat(".", 100_000))
	})))
	mux.HandleFunc("/let/{word}", func(w http.ResponseWriter, r *http.Request) { let <- r.PathValue("word") })
	inForms(t, mux, func(ctx context.Context, client *http.Client, origin string) error {
		blocked := rondo.Async(ctx, func(ctx context.Context) (string, error) { return ask(ctx, client, origin+"/block") })
		if _, _, err := rondo.Receive(ctx, start); err != nil {
			return err
		}
		if _, err := ask(ctx, client, origin+"/let/go"); err != nil {
			return err
		}
		text, err := blocked.Wait(ctx)
		if !strings.HasPrefix(text, "go...") || len(text) != 100_002 {
			t.Errorf("the answer has %d bytes: %.10s", len(text), text)
		}
		return err
	})
}

// TestBlockingEnds: the handler sees the end of its client, and may panic.
func TestBlockingEnds(t *testing.T) {
	start, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.Handle("/wait", httptask.Blocking(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		start <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})))
	mux.Handle("/panic", httptask.Blocking(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a fault of the handler") })))
	inForms(t, mux, func(ctx context.Context, client *http.Client, origin string) error {
		waiting := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := ask(ctx, client, origin+"/wait")
			return err
		})
		if _, _, err := rondo.Receive(ctx, start); err != nil {
			return err
		}
		waiting.Cancel(nil)
		_ = waiting.Wait(ctx)
		if _, _, err := rondo.Receive(ctx, ended); err != nil {
			return err
		}
		if text, err := ask(ctx, client, origin+"/panic"); err == nil {
			t.Errorf("a panic was answered with %q", text)
		}
		return nil
	})
}

// TestReadDeadlineOfBlocking: a deadline that a handler sets when it has read the body holds, as in
// net/http: when it has passed, the request is cancelled.
func TestReadDeadlineOfBlocking(t *testing.T) {
	h := httptask.Blocking(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		at := time.Now().Add(time.Hour)
		if r.URL.Path == "/passed" {
			at = time.Unix(1, 0)
			w.Header().Set("Connection", "close") // as nothing more is read of this one
		}
		if err := errors.Join(err, http.NewResponseController(w).SetReadDeadline(at)); err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/passed" {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
				t.Error("the deadline has been removed")
			}
		}
		_, _ = w.Write(body)
	}))
	inForms(t, h, func(ctx context.Context, client *http.Client, origin string) error {
		for i := range 101 {
			path := "/"
			if i == 100 {
				path = "/passed"
			}
			answer, err := client.Post(origin+path, "text/plain", strings.NewReader("abc"))
			if err != nil {
				return err
			}
			got, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if string(got) != "abc" || err != nil {
				t.Errorf("%s is answered with %q, %v", path, got, err)
			}
		}
		return nil
	})
}

// TestProfiler: while a handler of net/http/pprof measures, others answer.
func TestProfiler(t *testing.T) {
	inner := http.NewServeMux()
	inner.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux := http.NewServeMux()
	mux.Handle("/debug/", inner)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, trace.IsEnabled()) })
	inForms(t, mux, func(ctx context.Context, client *http.Client, origin string) error {
		measured := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := ask(ctx, client, origin+"/debug/pprof/trace?seconds=20")
			return err
		})
		if err := until(ctx, func() bool { return trace.IsEnabled() || measured.Done() }); err != nil {
			return err
		}
		if text, err := ask(ctx, client, origin+"/"); err != nil || text != "true" {
			t.Errorf("while it measures another handler answers %q, %v", text, err)
		}
		measured.Cancel(nil)
		_ = measured.Wait(ctx)
		return until(ctx, func() bool { return !trace.IsEnabled() })
	})
}

// TestProfilerPlain: heap and goroutine profiles, which net/http/pprof answers at once, and its
// index come from the default mux too.
func TestProfilerPlain(t *testing.T) {
	inForms(t, nil, func(ctx context.Context, client *http.Client, origin string) error {
		for path, want := range map[string]string{"": "full goroutine stack dump", "goroutine?debug=1": "goroutine profile: total", "cmdline": "test"} {
			if text, err := ask(ctx, client, origin+"/debug/pprof/"+path); err != nil || !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %.200q, %v", path, want, text, err)
			}
		}
		return nil
	})
}

// Files are read on a goroutine; the loop goes on meanwhile.
func ExampleBlocking() {
	files := httptask.Blocking(http.FileServer(http.Dir("testdata")))
	mux := http.NewServeMux()
	mux.Handle("/files/", http.StripPrefix("/files/", files))
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			return err
		}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			g.Go(func(ctx context.Context) error { return httptask.Serve(ctx, l, mux) })
			client := httptask.Client(g)
			defer client.CloseIdleConnections()
			answer, err := client.Get("http://" + l.Addr().String() + "/files/missing")
			if err != nil {
				return err
			}
			answer.Body.Close()
			fmt.Println(answer.Status)
			g.Cancel(nil)
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// 404 Not Found
	// <nil>
}
