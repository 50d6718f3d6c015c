//go:build linux && (amd64 || arm64)

package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/report"
)

// A recording is a recorder of the program's that says when it was asked.
type recording chan string

func (r recording) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, "trace")
	defer close(r)
	return int64(n), err
}

// TestFlightSaver: a trouble and a signal each leave a timeline, and the program's own recorder
// beside it. The number is the one after that of the newest file of the same PID, and older files
// of that number go, one that was not finished included.
func TestFlightSaver(t *testing.T) {
	for word, cause := range map[string]func(){
		"deadlock": func() { report.Trouble("deadlock", 0) },
		"signal":   func() { _ = syscall.Kill(os.Getpid(), syscall.SIGUSR2) },
	} {
		dir, asked := t.TempDir(), make(recording)
		for i, older := range []string{"8-held.json", "8-held.trace.123.part", "9-held.json", "7-signal.json"} {
			older = filepath.Join(dir, fmt.Sprintf("rondo-%d-%s", os.Getpid(), older))
			written := time.Unix(int64(i), 0)
			if err := errors.Join(os.WriteFile(older, nil, 0o666), os.Chtimes(older, written, written)); err != nil {
				t.Fatal(err)
			}
		}
		stop, err := inspect.FlightSaver{Dir: dir, Signals: []os.Signal{syscall.SIGUSR2}, Trace: asked}.Start()
		if err != nil {
			t.Fatal(err)
		}
		err = rondo.Run(t.Context(), func(ctx context.Context) error {
			if err := pingPong(2000)(ctx); err != nil {
				return err
			}
			_, err := rondo.Offload(ctx, func(context.Context) (any, error) {
				cause()
				<-asked
				return nil, nil
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		stop()
		stop()
		name := filepath.Join(dir, fmt.Sprintf("rondo-%d-8-%s", os.Getpid(), word))
		text, err := os.ReadFile(name + ".json")
		var events []any
		if err != nil || json.Unmarshal(text, &events) != nil || len(events) < 1000 {
			t.Errorf("%s: %d events: %v", word, len(events), err)
		}
		if text, err := os.ReadFile(name + ".trace"); err != nil || string(text) != "trace" {
			t.Errorf("%s: %q, %v", word, text, err)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 4 {
			t.Errorf("%s: the files are %v", word, all)
		}
	}
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]error{"": os.ErrInvalid, file: os.ErrInvalid, file + " that is missing": os.ErrNotExist} {
		if _, err := (inspect.FlightSaver{Dir: dir}).Start(); !errors.Is(err, want) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
			t.Errorf("Start with Dir %q: %v", dir, err)
		}
	}
}

// TestFlightSaverAtEnd: a loop that ends because of a deadlock is in the file about it.
func TestFlightSaverAtEnd(t *testing.T) {
	dir := t.TempDir()
	stop, err := inspect.FlightSaver{Dir: dir}.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	r := rondo.Runner{Name: "doomed", EndDeadlock: time.Millisecond}
	err = r.Run(t.Context(), func(ctx context.Context) error {
		if err := pingPong(2000)(ctx); err != nil {
			return err
		}
		return new(rondo.Event).Wait(ctx)
	})
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Fatalf("Run returned %v", err)
	}
	// The file is there before Run has returned: a program may exit then.
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rondo-%d-1-deadlock.json", os.Getpid())))
	if err != nil || !strings.Contains(string(text), `"name":"doomed"`) || strings.Count(string(text), "\n") < 1000 {
		t.Errorf("%d lines, %v: the loop that ended is not in the file", strings.Count(string(text), "\n"), err)
	}
}
