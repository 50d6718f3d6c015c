package kerneltest_test

import (
	"bytes"
	"log/slog"
	"sync"
)

// A logged collects what slog writes.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
	of   string    // the text of the lines that count
	seen chan bool // gets a value with the first of them
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(p, []byte(l.of)) {
		select {
		case l.seen <- true:
		default:
		}
	}
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// logs returns what is logged while fn runs.
func logs(fn func()) string {
	log := &logged{}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(before)
	fn()
	return log.String()
}
