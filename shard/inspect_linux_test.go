package shard_test

import (
	"context"
	"fmt"
	"html"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/shard"
)

// TestCallIsNamed: a task that waits for another loop names it, and the task there, to
// readers inside and outside the loop; that task names the caller's shard.
func TestCallIsNamed(t *testing.T) {
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		started := make(chan uint64, 1)
		caller := rondo.Go(ctx, func(ctx context.Context) error {
			_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
				started <- rondo.Current(ctx).ID()
				return 0, rondo.WaitCanceled(ctx)
			})
			return err
		})
		caller.SetName("caller")
		id, _, err := rondo.Receive(ctx, started)
		if err != nil {
			return err
		}
		for _, task := range rondo.Tasks(ctx) {
			if want := fmt.Sprintf("shard-1 #%d", id); task.Name == "caller" && (task.Waiting != "call" || task.Of != want) {
				t.Errorf("inside: waits for %q of %q, want %q", task.Waiting, task.Of, want)
			}
		}
		p, err := inspect.Snapshot()
		if err != nil {
			return err
		}
		found := 0
		for _, l := range p.Loops {
			for _, task := range l.Tasks {
				switch {
				case task.Name == "caller" && task.Waiting == fmt.Sprintf("call shard-1 #%d", id):
					found++
				case l.Name == "shard-1" && task.ID == id && task.Name == "call of shard-0" && strings.Contains(task.Func, "TestCallIsNamed"):
					found++
				}
			}
		}
		if found != 2 {
			var b strings.Builder
			_ = p.WriteTree(&b, inspect.TreeOptions{})
			t.Errorf("outside:\n%s", &b)
		}
		caller.Cancel(nil)
		return nil
	})
}

// TestRingAcrossLoops: tasks of two loops that wait for each other are found and named.
func TestRingAcrossLoops(t *testing.T) {
	onFirst(t, 2, func(ctx context.Context, s *shard.Shard) error {
		var caller *rondo.Task
		inside := make(chan bool, 1)
		caller = rondo.Go(ctx, func(ctx context.Context) error {
			_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
				return shard.Call(ctx, s, func(ctx context.Context) (int, error) {
					inside <- true
					return 0, caller.Wait(ctx) // which waits for this
				})
			})
			return err
		})
		caller.SetName("caller")
		if _, _, err := rondo.Receive(ctx, inside); err != nil {
			return err
		}
		// Shard 1 answers when its task waits for the call.
		if _, err := shard.Call(ctx, s.At(1), one); err != nil {
			return err
		}
		p, err := inspect.Snapshot()
		if err != nil {
			return err
		}
		var b strings.Builder
		_ = p.WriteRings(&b)
		if len(p.Rings) != 1 || len(p.Rings[0]) != 3 || !strings.Contains(b.String(), "caller") || !strings.Contains(b.String(), "shard-1 #") {
			_ = p.WriteTree(&b, inspect.TreeOptions{})
			t.Errorf("the rings are %v:\n%s", p.Rings, &b)
		}
		// The page says so too, in the same words and in red.
		answer := httptest.NewRecorder()
		inspect.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "http://localhost/", nil))
		page := html.UnescapeString(answer.Body.String())
		if want := `<p class="bad">` + strings.TrimSpace(b.String()) + "</p>"; answer.Code != 200 || strings.Count(page, want) != 1 {
			t.Errorf("%d, and nothing is %s in the page:\n%s", answer.Code, want, page)
		}
		caller.Cancel(nil)
		return nil
	})
}
