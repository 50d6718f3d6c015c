// Package timeline writes what the tasks of a process's loops did over time, in
// the trace event format that ui.perfetto.dev and chrome://tracing open.
//
// A loop is a process of the format, a task a thread of it, a step a slice
// with the reason of the wait that ended it, and a wake-up an arrow from the
// task that caused it, or a mark if none did. Callbacks are on thread 0.
//
// The file is an array with one event a line. It is complete whenever no loop is
// open. While a loop is open, and after the process was killed, the closing bracket
// is missing, which the format allows. No event is ever cut in two. Memory use is a
// buffer and a few words for each live task.
//
// The format: "Trace Event Format", Google, at
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
package timeline

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	bufferMax  = 64 << 10
	flushEvery = 250 * time.Millisecond
	end        = "\n]\n"
)

// A File is one file of events. All loops of the process that name the same path
// share it.
type File struct {
	path string

	mu    sync.Mutex
	file  *os.File // nil while no loop is open
	start time.Time
	at    int64 // where the next write goes
	buf   []byte
	any   bool // there is an event already
	users int
	pids  int
	flows uint64
	err   error
	quit  chan struct{}
	gone  chan struct{}
}

var files struct {
	sync.Mutex
	all map[string]*File
}

// Open opens a loop's part of the file at path. In path, %p stands for the number of
// this process. The first loop of a process empties the file, and later loops append
// to it. Each Loop must be closed.
func Open(path string) (*Loop, error) {
	path = strings.ReplaceAll(path, "%p", strconv.Itoa(os.Getpid()))
	files.Lock()
	defer files.Unlock()
	f := files.all[path]
	if f == nil {
		f = &File{path: path, start: time.Now()}
	}
	if err := f.open(); err != nil {
		return nil, err
	}
	if files.all == nil {
		files.all = make(map[string]*File)
	}
	files.all[path] = f
	return newLoop(f), nil
}

func (f *File) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == 0 {
		file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		if err := f.begin(file); err != nil {
			_ = file.Close()
			return err
		}
	}
	f.users++
	f.pids++
	return nil
}

// begin continues where the file ended. It begins at the start if the file was not
// ended, or is a different file by now.
func (f *File) begin(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !f.any || info.Size() != f.at+int64(len(end)) {
		f.at, f.any = 0, false
		f.buf = append(f.buf[:0], '[')
	}
	if info.Mode().IsRegular() {
		if err := file.Truncate(f.at); err != nil {
			return err
		}
		if _, err := file.Seek(f.at, io.SeekStart); err != nil {
			return err
		}
	}
	f.file, f.err = file, nil
	f.flush()
	f.quit, f.gone = make(chan struct{}), make(chan struct{})
	go f.flushRegularly(f.quit, f.gone)
	return nil
}

// flushRegularly limits what a killed process loses to a quarter of a second.
func (f *File) flushRegularly(quit, gone chan struct{}) {
	defer close(gone)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			f.mu.Lock()
			f.flush()
			f.mu.Unlock()
		}
	}
}

// flush writes the buffer. After an error it writes nothing more, so that what is
// there already can be read. f.mu is held.
func (f *File) flush() {
	if f.err == nil && len(f.buf) > 0 {
		n, err := f.file.Write(f.buf)
		f.at += int64(n)
		f.err = err
	}
	f.buf = f.buf[:0]
}

// close ends one loop's part. The last one to do so ends the file, and returns the
// first error that there was.
func (f *File) close() error {
	f.mu.Lock()
	f.users--
	if f.users > 0 {
		defer f.mu.Unlock()
		f.flush()
		return f.err
	}
	f.flush()
	at := f.at
	f.buf = append(f.buf, end...)
	f.flush()
	f.at = at
	if err := f.file.Close(); f.err == nil {
		f.err = err
	}
	f.file = nil
	err, quit, gone := f.err, f.quit, f.gone
	f.mu.Unlock()
	close(quit)
	<-gone
	return err
}

// event appends one event, which write completes, to the buffer.
func (f *File) event(kind string, pid, tid uint64, at time.Duration, write func(b []byte) []byte) {
	b := f.buf
	if f.any {
		b = append(b, ',')
	}
	f.any = true
	b = append(b, "\n{\"ph\":\""...)
	b = append(b, kind...)
	b = append(b, "\",\"pid\":"...)
	b = strconv.AppendUint(b, pid, 10)
	b = append(b, ",\"tid\":"...)
	b = strconv.AppendUint(b, tid, 10)
	b = append(b, ",\"ts\":"...)
	b = appendMicroseconds(b, at)
	b = write(b)
	f.buf = append(b, '}')
	if len(f.buf) >= bufferMax {
		f.flush()
	}
}

func appendMicroseconds(b []byte, d time.Duration) []byte {
	d = max(d, 0)
	b = strconv.AppendInt(b, int64(d/1000), 10)
	rest := int64(d % 1000)
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}
