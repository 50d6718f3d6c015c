package main

// A program that shows itself: it serves inspect.Handler, and is looked at by its URL, without a
// right on the machine where it runs. What comes from there is another's: it is bounded, no
// redirect is followed, no secret is sent in the clear, and no text of it disturbs the terminal.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rondo-go/rondo/inspect"
)

// A subject is a program that is looked at.
type subject interface {
	Snapshot(o inspect.Options) (*inspect.Program, error)
	Flight(last time.Duration) (*inspect.Flight, error)
	Close() error
}

// Bounds on an answer, where there are no others.
const (
	mostAsked   = 100_000 // tasks of each loop
	longestWait = time.Minute
	mostAnswer  = 1 << 30 // bytes
)

// usualPath is where a handler is if the URL does not say it.
const usualPath = "/debug/rondo"

// tokenName is the variable of the environment with a token for the handler.
const tokenName = "RONDO_TOKEN"

// remote is a program that shows itself at a URL.
type remote struct {
	at     url.URL
	token  string
	client http.Client
	ctx    context.Context // of all requests
	stop   context.CancelFunc
}

// isURL reports whether an argument is a URL rather than the number of a process.
func isURL(text string) bool { return strings.Contains(text, "://") }

// parseURL reads the URL of a handler.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, usagef("a URL begins with http:// or https:// and a host, such as https://host%s", usualPath)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = usualPath
	}
	return u, nil
}

// likelyURL returns the URL that is meant by a host and a port, or any URL if a text is none of
// these.
func likelyURL(text string) string {
	if strings.HasPrefix(text, ":") {
		text = "localhost" + text
	}
	if u, err := url.Parse("http://" + text); err == nil && u.Hostname() != "" && u.Port() != "" {
		return "http://" + text
	}
	return "http://localhost:8080"
}

// openURL opens the program whose handler is at a URL.
func openURL(u *url.URL, token string) (*remote, error) {
	if (token != "" || u.User != nil) && u.Scheme != "https" && !isLocal(u.Hostname()) {
		return nil, fmt.Errorf("a password or %s is not sent to %s in the clear: use https, or leave it out", tokenName, u.Host)
	}
	r := &remote{at: *u, token: token}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return r, nil
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// request returns the request for a snapshot.
func (r *remote) request(ctx context.Context, o inspect.Options) (*http.Request, error) {
	q := r.at.Query()
	q.Set("format", "json")
	q.Set("limit", strconv.Itoa(mostAsked))
	if o.Goroutines {
		q.Set("goroutines", "1")
	}
	if !o.Stacks {
		q["stacks"] = []string{"0"}
		for _, id := range o.StacksOf {
			q.Add("stacks", strconv.FormatUint(id, 10))
		}
	}
	if o.Times > 0 {
		q.Set("times", o.Times.String())
	}
	return r.asking(ctx, q)
}

// asking returns a request with the given query.
func (r *remote) asking(ctx context.Context, q url.Values) (*http.Request, error) {
	u := r.at
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err == nil && r.token != "" && u.User == nil {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	return req, err
}

// Snapshot asks the program for a snapshot.
func (r *remote) Snapshot(o inspect.Options) (*inspect.Program, error) {
	wait, most := o.MaxTime, o.MaxMemory
	if wait <= 0 {
		wait = longestWait
	}
	if most <= 0 {
		most = mostAnswer
	}
	ctx, cancel := context.WithTimeout(r.ctx, wait)
	defer cancel()
	req, err := r.request(ctx, o)
	if err != nil {
		return nil, err
	}
	var p *inspect.Program
	err = r.answer(req, most, func(body io.Reader) (err error) {
		p, err = inspect.ReadJSON(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, l := range p.Loops {
		// What is concluded from the others is not all that there is to conclude.
		if l.Omitted > 0 && l.Short == "" {
			l.Short = "the answer lacks " + plural(l.Omitted, "task")
		}
	}
	return p, nil
}

// Flight asks the program what its tasks did.
func (r *remote) Flight(last time.Duration) (*inspect.Flight, error) {
	ctx, cancel := context.WithTimeout(r.ctx, longestWait)
	defer cancel()
	q := r.at.Query()
	q.Set("format", "flight")
	q.Set("last", last.String())
	req, err := r.asking(ctx, q)
	if err != nil {
		return nil, err
	}
	f := new(inspect.Flight)
	err = r.answer(req, mostAnswer, func(body io.Reader) error { return json.NewDecoder(body).Decode(f) })
	for i := range f.Loops {
		l := &f.Loops[i]
		l.Name, l.Lost = printable(l.Name), printable(l.Lost)
		for k := range l.Steps {
			s := &l.Steps[k]
			s.Name, s.Kind = printable(s.Name), printable(s.Kind)
		}
	}
	return f, err
}

// answer has the body of the answer read, which has so many bytes at most.
func (r *remote) answer(req *http.Request, most int64, read func(body io.Reader) error) error {
	res, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s cannot be reached: %s", r.at.Redacted(), cause(err))
	}
	defer res.Body.Close()
	if err := r.refused(res); err != nil {
		return err
	}
	body := &io.LimitedReader{R: res.Body, N: most}
	err = read(body)
	switch {
	case body.N <= 0:
		return fmt.Errorf("the answer of %s has more than %d bytes", r.at.Redacted(), most)
	case err != nil:
		return fmt.Errorf("%s: %s", r.at.Redacted(), cause(err))
	}
	return nil
}

// cause leaves out of an error of the client what it was asked for, which has the query and may
// have a password. Some errors quote what has come from there as it is, such as the names in a
// certificate.
func cause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return printable(err.Error())
}

// refused says why an answer has no snapshot; nil if it may have one.
func (r *remote) refused(res *http.Response) error {
	name := r.at.Redacted()
	switch to := res.Header.Get("Location"); {
	case res.StatusCode/100 == 3 && to != "":
		return fmt.Errorf("%s leads to %s, which is not followed: name that one", name, printable(to))
	case res.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s wants to know who asks: set %s, or put user:password@ before the host", name, tokenName)
	case res.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(res.Body, 512)) // without it, the status is said
		line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		return fmt.Errorf("%s answers %s: %s", name, printable(res.Status), printable(line))
	}
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fmt.Errorf("%s is no handler of package inspect: it does not answer with JSON", name)
	}
	return nil
}

// printable returns a text of an answer as it may be shown.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return '?'
	}, text)
}

// interrupt ends a wait for what does not answer. Of a process nothing is waited for.
func interrupt(s subject) {
	if r, ok := s.(*remote); ok {
		r.stop()
	}
}

func (r *remote) Close() error {
	r.stop()
	r.client.CloseIdleConnections()
	return nil
}

// openSubject opens what a command line names, but for a core.
func (l *look) openSubject() (subject, error) {
	if l.url != nil {
		return openURL(l.url, os.Getenv(tokenName))
	}
	return inspect.OpenProcess(l.pid)
}

// argument is what a command line has that looks at the same.
func (l *look) argument() string {
	if l.url != nil {
		return l.url.Redacted()
	}
	return strconv.Itoa(l.pid)
}

// named says what is looked at.
func (l *look) named() string {
	if l.url != nil {
		return l.url.Redacted()
	}
	return fmt.Sprintf("process %d", l.pid)
}
