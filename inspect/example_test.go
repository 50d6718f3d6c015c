package inspect_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
)

// A snapshot of the calling program: its loops, their tasks, and what each waits for.
func ExampleSnapshot() {
	runner := rondo.Runner{Name: "bank"}
	_ = runner.Run(context.Background(), func(ctx context.Context) error {
		accounts := rondo.Mutex{Name: "accounts"}
		accounts.TryLock()
		rondo.Go(ctx, func(ctx context.Context) error { return accounts.Lock(ctx) }).SetName("transfer")
		if err := rondo.Yield(ctx); err != nil {
			return err
		}
		p, err := inspect.Snapshot()
		if err != nil {
			return err
		}
		for _, l := range p.Loops {
			for _, t := range l.Tasks {
				if l.Name == "bank" && t.Name == "transfer" {
					fmt.Println(t.Name, "waits for", t.Waiting)
				}
			}
		}
		return nil
	})
	// Output: transfer waits for lock "accounts"
}

// The page for a browser, and metrics for Prometheus with ?format=metrics. It runs on
// goroutines, so it answers also when a loop hangs. Expose it to operators only.
func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/debug/tasks", inspect.Handler())
	go func() { _ = http.ListenAndServe("localhost:7001", mux) }()
}

// kill -QUIT prints the tree of tasks, and the program goes on.
func ExampleOnSignal() {
	stop := inspect.OnSignal(os.Stderr, syscall.SIGQUIT)
	defer stop()
}

// Another process, by its id.
func ExampleOpenProcess() {
	target, err := inspect.OpenProcess(4711)
	if err != nil {
		fmt.Println(err) // says what to do
		return
	}
	defer target.Close()
	p, err := target.Snapshot(inspect.Options{Stacks: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = p.WriteTree(os.Stdout, inspect.TreeOptions{})
}

// A program that has crashed: its core file, and its executable.
func ExampleOpenCore() {
	target, err := inspect.OpenCore("core.4711", "./server")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer target.Close()
	p, err := target.Snapshot(inspect.Options{Stacks: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = p.WriteTree(os.Stdout, inspect.TreeOptions{})
}

// A snapshot as data, and back.
func ExampleReadJSON() {
	p, err := inspect.Snapshot()
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := p.WriteJSON(&file); err != nil {
		fmt.Println(err)
		return
	}
	back, err := inspect.ReadJSON(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(back.Loops) == len(p.Loops))
	// Output: true
}

// A recording: snapshots one after the other in one file, as rondo record writes them.
func ExampleReadRecording() {
	var file bytes.Buffer
	for range 2 {
		p, err := inspect.Snapshot()
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := p.WriteJSON(&file); err != nil {
			fmt.Println(err)
			return
		}
	}
	n := 0
	for _, err := range inspect.ReadRecording(&file) {
		if err != nil {
			fmt.Println(err)
			return
		}
		n++
	}
	fmt.Println(n, "snapshots")
	// Output: 2 snapshots
}

// Where the tasks of a process spend ten seconds, as folded stacks.
func ExampleNewWallProfile() {
	target, err := inspect.OpenProcess(4711)
	if err != nil {
		fmt.Println(err) // says what to do
		return
	}
	defer target.Close()
	profile := inspect.NewWallProfile()
	var before *inspect.Program
	for range 10 {
		after, err := target.Snapshot(inspect.Options{Stacks: true})
		if err != nil {
			break // It has ended.
		}
		if before != nil {
			profile.AddBetween(before, after, nil)
		}
		before = after
		<-time.After(time.Second)
	}
	_ = profile.WriteFolded(os.Stdout)
}

// A table of the program's own on the page of Handler.
func ExampleAddTable() {
	var sent atomic.Int64
	remove := inspect.AddTable("Mails", func(context.Context) [][]string {
		return [][]string{{"", "sent"}, {"all", fmt.Sprint(sent.Load())}}
	})
	defer remove()
	http.Handle("/debug/rondo", inspect.Handler())
}

// Two profiles compared, as a drawing.
func ExampleReadFolded() {
	before, err := inspect.ReadFolded(strings.NewReader("main.serve;[read] 30\nmain.serve;[lock] 10\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := inspect.ReadFolded(strings.NewReader("main.serve;[read] 10\nmain.serve;[lock] 30\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var svg strings.Builder
	_ = after.WriteFlame(&svg, before)
	fmt.Println(strings.Contains(svg.String(), "[lock]: 75.0 %, before 25.0 %"))
	// Output: true
}

// What the tasks did before a loop was held, a deadlock, or kill -QUIT, as files.
func ExampleFlightSaver_Start() {
	saver := inspect.FlightSaver{Dir: os.TempDir(), Signals: []os.Signal{syscall.SIGQUIT}}
	stop, err := saver.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
}
