package main

// Rows of package httptask, handlers of net/http in tasks: the server's
// CPU time for a request, beside net/http alone, with the same server and handler.

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// inTasks is the part of Rondo that the row is about.
const inTasks = "net/http with its handlers in tasks"

// httpTaskRow is the row for the given number of connections.
func httpTaskRow(conns int) row {
	name := fmt.Sprintf("httptask-%d", conns)
	list := []server{
		{"httptask", inTasks, true, httpInGo("httptask")},
		{"net-http", netHTTP, false, httpInGo("net-http")},
	}
	return row{
		name: name, section: web,
		why: "The rival is the same server without Rondo. Its goroutine parses the request, hands it to the loop, and waits for the answer: two more switches between goroutines, and the task.",
		run: func(o options) ([]result, error) {
			return compareHTTP(o, name, conns, list, budgets{inTasks: {netHTTP: 1.30}})
		},
	}
}

func serveHTTPTask(ctx context.Context, _ serving) error {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return siteByHandler(ctx, l, http.HandlerFunc(hello))
}
