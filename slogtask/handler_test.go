package slogtask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/internal/leak"
	"github.com/rondo-go/rondo/sim"
	"github.com/rondo-go/rondo/slogtask"
)

func TestMain(m *testing.M) { leak.Main(m) }

// text returns a Handler that writes into out without the time.
func text(out *bytes.Buffer) slog.Handler {
	return slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}})
}

// A line of a log says which task has written it.
func ExampleNewHandler() {
	var out bytes.Buffer
	log := slog.New(slogtask.NewHandler(text(&out)))
	r := rondo.Runner{Name: "shop"}
	err := r.Run(context.Background(), func(ctx context.Context) error {
		log.InfoContext(ctx, "open")
		task := rondo.Go(ctx, func(ctx context.Context) error {
			log.InfoContext(ctx, "sold", "what", "bread")
			return nil
		})
		task.SetName("till 1")
		return task.Wait(ctx)
	})
	fmt.Print(out.String(), err)
	// Output:
	// level=INFO msg=open loop=shop task=main task_id=1
	// level=INFO msg=sold what=bread loop=shop task="till 1" task_id=2
	// <nil>
}

// TestWhich: the task is the one that runs, or on a goroutine and in a callback the one
// of the ctx; without a loop nothing is added.
func TestWhich(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slogtask.NewHandler(text(&out)))
	line := func() string {
		s := strings.TrimPrefix(strings.TrimSpace(out.String()), "level=INFO msg=")
		out.Reset()
		return s
	}
	check := func(want string) {
		t.Helper()
		if got := line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r := rondo.Runner{Name: "l"}
	err := r.Run(t.Context(), func(ctx context.Context) error {
		log.Info("none")
		check("none")
		log.DebugContext(ctx, "not shown")
		check("")
		other := rondo.Go(ctx, func(context.Context) error {
			log.InfoContext(ctx, "a") // with the ctx of main
			check("a loop=l task=task-2 task_id=2")
			return nil
		})
		if err := other.Wait(ctx); err != nil {
			return err
		}
		rondo.Current(ctx).SetName("renamed")
		log.InfoContext(ctx, "b")
		check("b loop=l task=renamed task_id=1")
		if err := rondo.OffloadFunc(ctx, func(ctx context.Context) error { log.InfoContext(ctx, "c"); return nil }); err != nil {
			return err
		}
		check("c loop=l task=task-1 task_id=1")
		rondo.LoopOf(ctx).CallSoon(func() { log.InfoContext(ctx, "d") })
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		check("d loop=l task=renamed task_id=1")
		grouped := log.With("x", 1).WithGroup("g").With("y", 2).WithGroup("h")
		grouped.InfoContext(ctx, "e", "z", 3)
		check("e x=1 loop=l task=renamed task_id=1 g.y=2 g.h.z=3")
		grouped.Info("f", "z", 3)
		check("f x=1 g.y=2 g.h.z=3")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	log.InfoContext(context.Background(), "over")
	check("over")
	defer func() {
		if v := recover(); v != "rondo: slogtask.NewHandler with a nil Handler" {
			t.Errorf("panic %v", v)
		}
	}()
	slogtask.NewHandler(nil)
}

// TestSimulated: on a simulated host a line has the name of the host and the time that its
// clock shows, and one that has no time keeps none.
func TestSimulated(t *testing.T) {
	sim.Config{Seeds: 3}.Cluster(t, func(ctx context.Context, w *sim.World) {
		var out bytes.Buffer
		h := slogtask.NewHandler(slog.NewJSONHandler(&out, nil))
		var shown time.Time
		host := w.Host("db-1", func(ctx context.Context) error {
			if err := rondo.Sleep(ctx, time.Hour); err != nil {
				return err
			}
			shown = rondo.Now(ctx)
			slog.New(h).InfoContext(ctx, "up")
			return h.Handle(ctx, slog.Record{Message: "no time"})
		})
		host.SetClock(time.Minute, 0)
		_ = rondo.Sleep(ctx, 2*time.Hour)
		first, second, _ := strings.Cut(out.String(), "\n")
		line := parsed(t, first)
		if line["loop"] != "db-1" || line["time"] != shown.Format(time.RFC3339Nano) || shown.Year() > 2001 {
			t.Errorf("%v shows %s", shown, first)
		}
		if _, has := parsed(t, second)["time"]; has {
			t.Errorf("it has got a time: %s", second)
		}
	})
}

func parsed(t *testing.T, line string) map[string]any {
	out := make(map[string]any)
	if err := json.Unmarshal([]byte(line), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHandler: it does what slog asks of handlers.
func TestHandler(t *testing.T) {
	var out bytes.Buffer
	results := func() (all []map[string]any) {
		for line := range strings.Lines(out.String()) {
			all = append(all, parsed(t, line))
		}
		return all
	}
	if err := slogtest.TestHandler(slogtask.NewHandler(slog.NewJSONHandler(&out, nil)), results); err != nil {
		t.Error(err)
	}
}

// TestMore: further functions add what they know of a ctx, outside of all groups, also without a
// loop.
func TestMore(t *testing.T) {
	type key struct{}
	var out bytes.Buffer
	job := func(ctx context.Context) []slog.Attr {
		id, ok := ctx.Value(key{}).(int)
		if !ok {
			return nil
		}
		return []slog.Attr{slog.Int("job", id)}
	}
	log := slog.New(slogtask.NewHandler(text(&out), job))
	log.InfoContext(context.Background(), "a")
	ctx := context.WithValue(context.Background(), key{}, 7)
	log.WithGroup("g").InfoContext(ctx, "b", "k", 1)
	err := new(rondo.Runner).Run(ctx, func(ctx context.Context) error {
		log.InfoContext(ctx, "c")
		return nil
	})
	const want = "level=INFO msg=a\nlevel=INFO msg=b job=7 g.k=1\nlevel=INFO msg=c "
	if got := out.String(); err != nil || !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " task=main task_id=1 job=7\n") {
		t.Errorf("%v\n%s", err, got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a nil function is taken")
		}
	}()
	slogtask.NewHandler(text(&out), nil)
}
