package main

import (
	"testing"

	"github.com/rondo-go/rondo/inspect"
)

// TestRefusal: what is said of processes that may not be read names the cure, which for
// root is another one.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		n, user int
		want    string
	}{
		{1, 1000, "1 process may not be read: run as root to see all."},
		{1200, 1000, "1,200 processes may not be read: run as root to see all."},
		{1, 0, "1 process may not be read: root needs CAP_SYS_PTRACE, also in the user namespace of the process."},
	} {
		if got := refusal(c.n, c.user); got != c.want {
			t.Errorf("refusal(%d, %d) = %q, want %q", c.n, c.user, got, c.want)
		}
	}
}

// TestNames: workers of one program are told apart by their loops and by what they serve.
func TestNames(t *testing.T) {
	loop := func(name string, tasks ...string) *inspect.Loop {
		l := &inspect.Loop{Name: name}
		for _, name := range tasks {
			l.Tasks = append(l.Tasks, &inspect.Task{Name: name})
		}
		return l
	}
	for _, c := range []struct {
		loops         []*inspect.Loop
		names, serves string
	}{
		{nil, "-", "-"},
		{[]*inspect.Loop{loop("mailer", "main", "work MAILS workers", "work progress", "mail.a", "serve price")}, "mailer", "serve price, work MAILS workers"},
		{[]*inspect.Loop{loop("shop-0", "serve price", "handle a.>"), loop("shop-1", "serve price")}, "shop", "handle a.>, serve price"},
		{[]*inspect.Loop{loop("d"), loop("a"), loop("c-"), loop("-1"), loop("b")}, "-1, a, b, 2 more", "-"},
	} {
		p := &inspect.Program{Loops: c.loops}
		if names, serves := names(p), serves(p); names != c.names || serves != c.serves {
			t.Errorf("%q, %q; want %q, %q", names, serves, c.names, c.serves)
		}
	}
	p := &inspect.Program{Loops: []*inspect.Loop{{Servers: []inspect.Server{{Name: "[::]:80"}}}}}
	if got := serves(p); got != "[::]:80" {
		t.Errorf("serves %q", got)
	}
}
