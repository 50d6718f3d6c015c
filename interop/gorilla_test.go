package interop_test

// gorilla/mux and gorilla/websocket. A server's connection is from Hijack, which
// suspends the task; a client's is from socket.Dial. Each connection allows one task that
// reads and one that writes.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/mux"
	"github.com/gorilla/websocket"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
)

// TestHTTPTaskGorillaMux: variables, methods, a subrouter and middleware, in tasks that
// share a map and wait.
func TestHTTPTaskGorillaMux(t *testing.T) {
	visits, at := make(map[string]int), new(overlap)
	router := mux.NewRouter()
	router.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer at.enter()()
			next.ServeHTTP(w, r)
		})
	})
	sub := router.PathPrefix("/visits").Subrouter()
	sub.HandleFunc("/{name:[a-z]+}", func(w http.ResponseWriter, r *http.Request) {
		visits[mux.Vars(r)["name"]]++
		at.company(t, r.Context())
		fmt.Fprint(w, mux.CurrentRoute(r).GetName())
	}).Methods(http.MethodGet).Name("visit")
	middled(t, router, func(ctx context.Context, a *asker) error {
		ask := func(ctx context.Context, method, path string, status int, want string) error {
			answer, b, err := a.ask(ctx, method, path)
			if err == nil && (answer.StatusCode != status || want != "" && b != want) {
				t.Errorf("%s %s: %s, %q", method, path, answer.Status, b)
			}
			return err
		}
		err := all(ctx, 20, func(ctx context.Context, i int) error {
			return ask(ctx, http.MethodGet, "/visits/"+string(rune('a'+i%2)), http.StatusOK, "visit")
		})
		return errors.Join(err,
			ask(ctx, http.MethodPost, "/visits/a", http.StatusMethodNotAllowed, ""),
			ask(ctx, http.MethodGet, "/visits/7", http.StatusNotFound, ""))
	})
	if visits["a"] != 10 || visits["b"] != 10 {
		t.Errorf("%v", visits)
	}
}

// A hall is a chat by gorilla/websocket: what a member says goes to all. It has no lock.
type hall struct {
	said    broadcast.Topic[string]
	members int
}

func (h *hall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer c.Close()
	lines := h.said.Subscribe(64, broadcast.Wait) // a member who is slow holds up the others
	defer lines.Close()
	h.members++
	defer func() { h.members-- }()
	// Only one task may write, so the answer to the end is written when the other one has
	// ended. The usual handler, which the reader calls, waits for the lock of a message that
	// is being written, and holds the loop: up to a second.
	c.SetCloseHandler(func(int, string) error { return nil })
	err = rondo.Group(r.Context(), func(g *rondo.Scope) error {
		g.Go(func(ctx context.Context) error {
			for line := range lines.All(ctx) {
				if err := c.WriteMessage(websocket.TextMessage, []byte(line)); err != nil {
					return err
				}
			}
			return rondo.Check(ctx)
		})
		defer g.Cancel(nil)
		for {
			_, text, err := c.ReadMessage()
			if err != nil {
				return err
			}
			if err := h.said.Publish(g, string(text)); err != nil {
				return err
			}
		}
	})
	if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		_ = c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
	}
}

// TestGorillaWebSocket: 20 members, which are tasks too, receive each other's texts. Half
// of them leave by a closing handshake, and half without.
func TestGorillaWebSocket(t *testing.T) {
	const members = 20
	h := new(hall)
	run(t, func(ctx context.Context) error {
		return servingHTTP(ctx, h, nil, func(ctx context.Context, address string) error {
			dial := socketDial(ctx)
			dialer := &websocket.Dialer{NetDialContext: func(_ context.Context, network, address string) (net.Conn, error) {
				return dial(ctx, network, address)
			}}
			err := all(ctx, members, func(ctx context.Context, i int) error {
				c, _, err := dialer.DialContext(ctx, "ws://"+address, nil)
				if err != nil {
					return err
				}
				defer c.Close()
				for h.members < members {
					if err := rondo.Yield(ctx); err != nil {
						return err
					}
				}
				own := strings.Repeat(fmt.Sprintf("%02d ", i), 1000)
				if err := c.WriteMessage(websocket.TextMessage, []byte(own)); err != nil {
					return err
				}
				heard := make(map[string]bool)
				for range members {
					_, text, err := c.ReadMessage()
					if err != nil {
						return err
					}
					heard[string(text)] = true
				}
				if len(heard) != members || !heard[own] {
					t.Errorf("member %d received %d different texts", i, len(heard))
				}
				if i%2 == 0 {
					return nil
				}
				bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "bye")
				if err := c.WriteMessage(websocket.CloseMessage, bye); err != nil {
					return err
				}
				if _, _, err := c.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
					t.Errorf("the end is %v", err)
				}
				return nil
			})
			for h.members > 0 {
				if err := rondo.Sleep(ctx, 0); err != nil {
					return err
				}
			}
			return err
		})
	})
}
