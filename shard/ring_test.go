package shard_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/shard"
)

// deadlocked has a task hold a lock on shard 0 and call shard 1, which calls back for the
// lock.
func deadlocked(ctx context.Context, s *shard.Shard) error {
	if s.Index() != 0 {
		return nil
	}
	var m rondo.Mutex
	if err := m.Lock(ctx); err != nil {
		return err
	}
	defer m.Unlock()
	_, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) {
		return shard.Call(ctx, s, func(ctx context.Context) (int, error) {
			if err := m.Lock(ctx); err != nil {
				return 0, err
			}
			defer m.Unlock()
			return 1, nil
		})
	})
	return err
}

// TestRingEnds: with EndDeadlock a ring of waits across loops ends Run, and is named, also if there
// was a call before that was none: one that took longer than EndDeadlock, or one that was answered
// when the ring began, which is half as old as that at the first look.
func TestRingEnds(t *testing.T) {
	const end = 100 * time.Millisecond
	for _, took := range []time.Duration{3 * end, end / 2} {
		r := shard.Runner{Loops: 2, Loop: rondo.Runner{EndDeadlock: end}}
		err := r.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
			if _, err := shard.Call(ctx, s.At(1), func(ctx context.Context) (int, error) { return 0, rondo.Sleep(ctx, took) }); err != nil {
				return err
			}
			return deadlocked(ctx, s)
		})
		checkRing(t, err)
	}
}

// checkRing fails the test if err does not name the ring of deadlocked.
func checkRing(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, rondo.ErrDeadlock) {
		t.Fatalf("Run: %v", err)
	}
	for _, want := range []string{"shard-0 #1 main", "shard-1 #", "call of shard-0, which waits for shard-0 #", "call of shard-1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if !strings.HasSuffix(err.Error(), " waits for shard-0 #1") {
		t.Errorf("it does not end where it begins: %v", err)
	}
}

// TestRingIsReported: without EndDeadlock it is reported, and Run goes on.
func TestRingIsReported(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	log := &logged{said: func(line string) {
		if strings.Contains(line, "in a ring, which only a cancellation can end") && strings.Contains(line, "shard-1 #") {
			cancel(errBad)
		}
	}}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(before)
	if err := (&shard.Runner{Loops: 2}).Run(ctx, deadlocked); err != errBad {
		t.Errorf("Run: %v", err)
	}
}

// TestRingIsReportedOnce: calls that go on meanwhile do not bring it up again.
func TestRingIsReportedOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes three seconds")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	said := 0
	log := &logged{said: func(line string) {
		if said++; said == 1 {
			time.AfterFunc(2*time.Second, func() { cancel(errBad) }) // the time of two more looks
		}
	}}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(before)
	err := (&shard.Runner{Loops: 2}).Run(ctx, func(ctx context.Context, s *shard.Shard) error {
		rondo.Go(ctx, func(ctx context.Context) error {
			for {
				if _, err := shard.Call(ctx, s.At(1-s.Index()), func(context.Context) (int, error) { return 0, nil }); err != nil {
					return nil
				}
			}
		})
		return deadlocked(ctx, s)
	})
	if err != errBad || said != 1 {
		t.Errorf("Run: %v; reported %d times", err, said)
	}
}

// logged calls said for each line.
type logged struct {
	mu   sync.Mutex
	said func(line string)
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said(string(bytes.Clone(b)))
	return len(b), nil
}

// TestLongCall: a call that takes long is no ring, also if its function waits for a task that takes
// long.
func TestLongCall(t *testing.T) {
	r := shard.Runner{Loops: 2, Loop: rondo.Runner{EndDeadlock: time.Millisecond}}
	sleep := func(ctx context.Context) (int, error) { return 0, rondo.Sleep(ctx, 30*time.Millisecond) }
	for name, fn := range map[string]func(ctx context.Context) (int, error){
		"sleep": sleep,
		"wait":  func(ctx context.Context) (int, error) { return rondo.Async(ctx, sleep).Wait(ctx) },
	} {
		err := r.Run(t.Context(), func(ctx context.Context, s *shard.Shard) error {
			if s.Index() != 0 {
				return nil
			}
			_, err := shard.Call(ctx, s.At(1), fn)
			return err
		})
		if err != nil {
			t.Errorf("%s: Run: %v", name, err)
		}
	}
}
