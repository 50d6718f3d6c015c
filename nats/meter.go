package nats

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rondo-go/rondo"
)

// A Meter counts operations, and how long they take. The zero Meter is ready, and may be used on
// any loop, by several connections, workers and producers.
//
//	meter := new(nats.Meter)
//	c.Middleware = []nats.Middleware{meter.Wrap}
//	http.Handle("/metrics/nats", meter)
type Meter struct {
	// Label returns the name under which an operation is counted. It is called in the task of
	// the operation. nil means the name of a call, the stream and the consumer of a job, and
	// nothing for the rest, whose subjects may be any number. From 1,000 names on, further ones
	// are "other".
	Label func(o *Operation) string

	mu     sync.Mutex // held for moments only
	series map[seriesKey]*series
	jobs   map[string]*[fates]uint64 // by stream and consumer
}

// A fate is what has become of a delivery of a job.
type fate int

const (
	fateDone     fate = iota // or its function has answered the message itself
	fateAgain                // it has failed, and the job is delivered again
	fateDead                 // it has failed for the last time
	fateReturned             // its worker has stopped
	fates
)

var fateNames = [fates]string{"done", "again", "dead", "returned"}

// count counts a delivery, unless m is nil.
func (m *Meter) count(consumer string, f fate) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs == nil {
		m.jobs = make(map[string]*[fates]uint64)
	}
	if m.jobs[consumer] == nil && len(m.jobs) >= mostSeries {
		consumer = "other"
	}
	if m.jobs[consumer] == nil {
		m.jobs[consumer] = new([fates]uint64)
	}
	m.jobs[consumer][f]++
}

// jobFates returns a copy of m.jobs.
func (m *Meter) jobFates() map[string][fates]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[string][fates]uint64, len(m.jobs))
	for name, counts := range m.jobs {
		all[name] = *counts
	}
	return all
}

// writeJobs writes what became of the jobs of Workers that have m as their Meter.
func (m *Meter) writeJobs(out io.Writer) {
	all := m.jobFates()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for f, n := range all[name] {
			fmt.Fprintf(out, "rondo_nats_jobs_total{name=\"%s\",fate=\"%s\"} %d\n", escape.Replace(name), fateNames[f], n)
		}
	}
}

const mostSeries = 1000

type seriesKey struct {
	op   Op
	name string
}

func (k seriesKey) compare(other seriesKey) int {
	return cmp.Or(cmp.Compare(k.op, other.op), cmp.Compare(k.name, other.name))
}

// A result is how an operation has ended.
type result int

const (
	succeeded result = iota
	failed
	panicked
	results
)

var resultNames = [results]string{"ok", "error", "panic"}

// bounds are the upper bounds of the buckets of the histogram.
var bounds = [...]time.Duration{
	100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	500 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute,
}

// A series is what is counted under one name.
type series struct {
	running int
	results [results]uint64
	buckets [len(bounds) + 1]uint64
	sum     time.Duration
}

// within returns a time within which a share of the operations took, as far as the buckets say, or
// "" if none has ended.
func (s series) within(share float64) string {
	n := uint64(0)
	for _, b := range s.buckets {
		n += b
	}
	if n == 0 {
		return ""
	}
	least, sum := uint64(math.Ceil(share*float64(n))), uint64(0)
	for i, bound := range bounds {
		if sum += s.buckets[i]; sum >= least {
			return bound.String()
		}
	}
	return "more than " + bounds[len(bounds)-1].String()
}

// Wrap is a Middleware.
func (m *Meter) Wrap(ctx context.Context, o *Operation, next func(ctx context.Context) error) error {
	s := m.begin(o)
	start, how := rondo.Now(ctx), panicked
	defer func() { m.end(s, how, rondo.Now(ctx).Sub(start)) }()
	err := next(ctx)
	if how = succeeded; err != nil {
		how = failed
	}
	return err
}

func (m *Meter) begin(o *Operation) *series {
	key := seriesKey{op: o.Op, name: m.label(o)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.series == nil {
		m.series = make(map[seriesKey]*series)
	}
	if m.series[key] == nil && len(m.series) >= mostSeries {
		key.name = "other"
	}
	s := m.series[key]
	if s == nil {
		s = new(series)
		m.series[key] = s
	}
	s.running++
	return s
}

func (m *Meter) label(o *Operation) string {
	switch {
	case m.Label != nil:
		return m.Label(o)
	case o.Op == OpCall, o.Op == OpServe:
		return o.Subject
	case o.Job != nil:
		if meta, err := o.Job.Metadata(); err == nil {
			return meta.Stream + " " + meta.Consumer
		}
	}
	return ""
}

func (m *Meter) end(s *series, how result, took time.Duration) {
	bucket, _ := slices.BinarySearch(bounds[:], took)
	m.mu.Lock()
	defer m.mu.Unlock()
	s.running--
	s.results[how]++
	s.buckets[bucket]++
	s.sum += took
}

// counted returns a copy of m.series.
func (m *Meter) counted() map[seriesKey]series {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[seriesKey]series, len(m.series))
	for key, s := range m.series {
		all[key] = *s
	}
	return all
}

// Table returns the counts for inspect.AddTable, a row for each operation and name. The two times
// are bounds of the histogram: half of the operations, and 99 %, took no longer. The last four
// columns are deliveries of the jobs of Workers with m as their Meter, by fate. Any goroutine may
// call it; it never suspends.
func (m *Meter) Table(context.Context) [][]string {
	all, jobs := m.counted(), m.jobFates()
	for name := range jobs {
		key := seriesKey{OpWork, name}
		if _, known := all[key]; !known { // no Wrap has counted it
			all[key] = series{}
		}
	}
	rows := [][]string{slices.Concat([]string{"operation", "name", "running"}, resultNames[:], []string{"half within", "99 % within"}, fateNames[:])}
	for _, key := range slices.SortedFunc(maps.Keys(all), seriesKey.compare) {
		s := all[key]
		row := []string{key.op.String(), key.name, strconv.Itoa(s.running)}
		for _, n := range s.results {
			row = append(row, strconv.FormatUint(n, 10))
		}
		row = append(row, s.within(0.5), s.within(0.99))
		if counts, ok := jobs[key.name]; ok && key.op == OpWork {
			for _, n := range counts {
				row = append(row, strconv.FormatUint(n, 10))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// WriteMetrics writes what was counted as text in the format of Prometheus, version 0.0.4:
// rondo_nats_running, rondo_nats_operations_total by result, which is ok, error or panic, and the
// histogram rondo_nats_operation_seconds, each by op and name. Each delivery of a job is one
// operation. Of Workers with this Meter it writes rondo_nats_jobs_total by name, which is the
// stream and the consumer, and by fate: done, again if it failed and is delivered again, dead if
// it is not, and returned because its worker stops. A job whose function answered the message
// itself is done, whatever the answer, and also if it failed then. From 1,000 names on, further
// ones are "other". Errors are those of w.
func (m *Meter) WriteMetrics(w io.Writer) error {
	all := m.counted()
	keys := slices.SortedFunc(maps.Keys(all), seriesKey.compare)
	out := bufio.NewWriter(w)
	head := func(name, kind, help string) {
		fmt.Fprintf(out, "# HELP rondo_nats_%s %s\n# TYPE rondo_nats_%s %s\n", name, help, name, kind)
	}
	labels := func(key seriesKey) string { return fmt.Sprintf(`op="%s",name="%s"`, key.op, escape.Replace(key.name)) }
	head("running", "gauge", "Operations that have begun and have not ended.")
	for _, key := range keys {
		fmt.Fprintf(out, "rondo_nats_running{%s} %d\n", labels(key), all[key].running)
	}
	head("operations_total", "counter", "Operations that have ended.")
	for _, key := range keys {
		for how, n := range all[key].results {
			fmt.Fprintf(out, "rondo_nats_operations_total{%s,result=\"%s\"} %d\n", labels(key), resultNames[how], n)
		}
	}
	head("operation_seconds", "histogram", "How long operations took.")
	for _, key := range keys {
		s, n := all[key], uint64(0)
		for i, bound := range bounds {
			n += s.buckets[i]
			fmt.Fprintf(out, "rondo_nats_operation_seconds_bucket{%s,le=\"%v\"} %d\n", labels(key), bound.Seconds(), n)
		}
		n += s.buckets[len(bounds)]
		fmt.Fprintf(out, "rondo_nats_operation_seconds_bucket{%s,le=\"+Inf\"} %d\n", labels(key), n)
		fmt.Fprintf(out, "rondo_nats_operation_seconds_sum{%s} %v\n", labels(key), s.sum.Seconds())
		fmt.Fprintf(out, "rondo_nats_operation_seconds_count{%s} %d\n", labels(key), n)
	}
	head("jobs_total", "counter", "Deliveries of jobs, by what has become of them.")
	m.writeJobs(out)
	return out.Flush()
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// ServeHTTP serves what WriteMetrics writes. It never suspends.
func (m *Meter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = m.WriteMetrics(w) // the client has left
}
