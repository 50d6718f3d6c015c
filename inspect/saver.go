package inspect

// A FlightSaver keeps the past when something goes wrong: files of what the tasks did before.
//
// The law: it costs nothing until there is trouble, and then a bounded number of files.

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rondo-go/rondo/internal/report"
)

// A FlightSaver writes the flight record of the calling program to files: when a loop reports that
// a step holds it (see Runner.Debug), when a loop reports a deadlock, and when a signal comes. A
// loop that ends by Runner.EndDeadlock waits for its file, 5 s at most.
type FlightSaver struct {
	// Dir is the folder of the files. Their names are rondo-PID-N-WORD.json, where WORD is held,
	// deadlock or signal, and they open at https://ui.perfetto.dev. N counts to 10 and begins
	// again, and a new file replaces the one that had its N, so a program has at most 10 files. A
	// program that starts again with the same PID, as in a container, counts on from the newest
	// file. Programs of one PID that run at the same time need a Dir each.
	Dir string
	// Signals, such as syscall.SIGQUIT, cause a file to be written too, and nothing else: SIGQUIT
	// does not end the program. If there are none, no signal is caught.
	Signals []os.Signal
	// Trace is written beside each file as rondo-PID-N-WORD.trace: a *trace.FlightRecorder of
	// package runtime/trace that the program has started. It may be nil.
	Trace io.WriterTo
}

// savedFiles is the largest number of files of a program. In the time savedPause after a file, a
// held loop or a deadlock causes no other one.
const (
	savedFiles = 10
	savedPause = 10 * time.Second
)

// Start makes the FlightSaver write files until stop is called. stop returns when no file is
// being written. A held loop or a deadlock less than 10 s after the last file causes no file. A
// signal always does, but the signals that come while a file is being written share one file. It
// never suspends. It fails if Dir is no folder. It works on Linux, on amd64 and arm64; elsewhere,
// if a Target cannot read the program, the error is logged in place of a file.
func (s FlightSaver) Start() (stop func(), err error) {
	if s.Dir == "" {
		return nil, fmt.Errorf("inspect: FlightSaver.Start without Dir: set it to a folder: %w", os.ErrInvalid)
	} else if info, err := os.Stat(s.Dir); err != nil {
		return nil, fmt.Errorf("inspect: FlightSaver.Start: Dir must be a folder: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("inspect: FlightSaver.Start: Dir must be a folder, not the file %s: %w", s.Dir, os.ErrInvalid)
	}
	troubles, signals, quit, gone := make(chan report.Alarm, 1), make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	unlisten := report.Listen(troubles)
	if len(s.Signals) > 0 {
		signal.Notify(signals, s.Signals...)
	}
	go func() {
		defer close(gone)
		s.serve(troubles, signals, quit)
	}()
	return sync.OnceFunc(func() {
		unlisten()
		signal.Stop(signals)
		close(quit)
		<-gone
		if len(troubles) > 0 {
			(<-troubles).Seen()
		}
	}), nil
}

// serve writes a file for each trouble and each signal, until quit is closed.
func (s FlightSaver) serve(troubles <-chan report.Alarm, signals <-chan os.Signal, quit <-chan struct{}) {
	var last time.Time
	for n := s.newest(); ; {
		word, seen := "signal", func() {}
		select {
		case alarm := <-troubles:
			word, seen = alarm.Word, alarm.Seen
			if !last.IsZero() && time.Since(last) < savedPause {
				seen()
				continue
			}
		case <-signals:
		case <-quit:
			return
		}
		if err := s.save(fmt.Sprintf("%s%d-", ownFiles(), n%savedFiles+1), word); err != nil {
			report.Log(slog.LevelWarn, "rondo: the flight record cannot be saved", "err", err)
		}
		seen()
		n, last = n+1, time.Now()
	}
}

// ownFiles is how the names of the files of this program begin.
func ownFiles() string { return fmt.Sprintf("rondo-%d-", os.Getpid()) }

// newest returns the N of the newest file in Dir that has this program's PID, or 0.
func (s FlightSaver) newest() (n int) {
	var latest time.Time
	files, _ := os.ReadDir(s.Dir) // the first save reports what is wrong with Dir
	for _, file := range files {
		info, err := file.Info()
		rest, own := strings.CutPrefix(file.Name(), ownFiles())
		if err != nil || !own || !info.ModTime().After(latest) {
			continue
		}
		digits, _, _ := strings.Cut(rest, "-")
		if i, err := strconv.Atoi(digits); err == nil && i > 0 && i <= savedFiles {
			n, latest = i, info.ModTime()
		}
	}
	return n
}

// save writes the files of one N, in place of those that had it, also those that a program which
// was killed did not finish.
func (s FlightSaver) save(prefix, word string) error {
	files, _ := os.ReadDir(s.Dir)
	for _, file := range files {
		if rest, same := strings.CutPrefix(file.Name(), prefix); same && rest != word+".json" && rest != word+".trace" {
			_ = os.Remove(filepath.Join(s.Dir, file.Name())) // if it cannot go, nor can a new one come
		}
	}
	name, target := prefix+word, openSelf()
	if target == nil {
		return errNoFlight
	}
	f, err := target.Flight(allOfIt)
	self.Unlock()
	if err == nil {
		err = s.file(name+".json", f.WriteTrace)
	}
	if s.Trace != nil {
		err = errors.Join(err, s.file(name+".trace", func(w io.Writer) error { _, err := s.Trace.WriteTo(w); return err }))
	}
	return err
}

// file writes one file, which has its name only when it is whole.
func (s FlightSaver) file(name string, write func(w io.Writer) error) error {
	f, err := os.CreateTemp(s.Dir, name+".*.part")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.Dir, name))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
