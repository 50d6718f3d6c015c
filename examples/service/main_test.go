package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/httptask"
	"github.com/rondo-go/rondo/sim"
)

// TestLastOne: three customers want the last one, and one of them cannot pay. It is sold once, in
// every order that sim tries, with a clock that jumps over the waits.
func TestLastOne(t *testing.T) {
	sim.Test(t, func(ctx context.Context) {
		customers := 0
		s := &shop{stock: map[string]int{"tea": 1}, pay: func(ctx context.Context, _ string) error {
			if customers++; customers == 1 {
				return errors.New("no money")
			}
			return rondo.Sleep(ctx, time.Second)
		}}
		handler, sold := s.handler(), 0
		err := rondo.Group(ctx, func(g *rondo.Scope) error {
			for range 3 {
				g.Go(func(ctx context.Context) error {
					answer := httptest.NewRecorder()
					handler.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "POST", "/buy/tea", nil))
					if answer.Code == http.StatusOK {
						sold++
					}
					return nil
				})
			}
			return nil
		})
		if err != nil || sold != 1 || s.stock["tea"] != 0 {
			t.Errorf("%d were sold and %d are left, %v", sold, s.stock["tea"], err)
		}
	})
}

// TestServe asks the whole service over a socket.
func TestServe(t *testing.T) {
	err := rondo.Run(t.Context(), func(ctx context.Context) error {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			return err
		}
		s := &shop{stock: map[string]int{"tea": 1}, pay: func(ctx context.Context, _ string) error { return rondo.Yield(ctx) }}
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			defer g.Cancel(nil) // ends the service
			g.Go(func(ctx context.Context) error { return s.serve(ctx, l) })
			client := httptask.Client(g)
			for _, want := range []int{http.StatusOK, http.StatusConflict} {
				answer, err := client.Post("http://"+l.Addr().String()+"/buy/tea", "", nil)
				if err != nil {
					return err
				}
				text, err := io.ReadAll(answer.Body)
				if err := errors.Join(err, answer.Body.Close()); err != nil {
					return err
				}
				if answer.StatusCode != want {
					t.Errorf("%s: %s", answer.Status, text)
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}
