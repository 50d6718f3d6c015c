package main

// The verbs record and diff.

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/rondo-go/rondo/inspect"
)

const recordUsage = `Usage: rondo record [--every D] [--for D] [--stacks] PID|URL > FILE

It takes a snapshot of a process again and again, and writes each as JSON, one
after the other. rondo diff compares the first and the last of them. It ends
with the process, after the time, or at Ctrl-C.

  --every D   how often (default 1s)
  --for D     how long (default 1m)
  --stacks    with the stack of each task

Usage: rondo record --last D PID|URL > FILE
       rondo record --last D --core FILE [--exe FILE] > FILE

It writes what the tasks did in the time before, without snapshots: each loop
keeps a flight record of its last steps. It is a timeline: open it at
https://ui.perfetto.dev. Steps between two looks of a loop at the clock share
that time equally. A Yield is no step.

  --last D    how far back, as far as the record goes
  --core F    a core file in place of a process
  --exe F     the program that the core is of, if it is not where it was
`

const diffUsage = `Usage: rondo diff FILE
       rondo diff BEFORE AFTER

It compares two snapshots: what came and went, which kinds of task and of wait
grew, which tasks were busiest, and which never moved. FILE is of rondo record,
of which it takes the first and the last snapshot; BEFORE and AFTER may also be
of rondo ps --json.

  --limit N   how many rows of each kind (default 10)
`

func runRecord(c *console, args []string) error {
	l := look{options: options{verb: "record"}}
	every, length, stacks := time.Second, time.Minute, false
	var last time.Duration
	l.span(&last, "last", 1)
	l.cores()
	l.span(&every, "every", 1)
	l.span(&length, "for", 1)
	l.flag(&stacks, "stacks")
	if err := l.parse(args); err != nil {
		return err
	}
	if name := l.given("every", "for", "stacks"); name != "" && last > 0 {
		return usagef("with --last there are no snapshots: leave out --%s", name)
	}
	if last > 0 {
		return l.flight(c, last)
	}
	if l.core != "" {
		return usagef("--core goes with --last: a core has one snapshot, which rondo ps --json writes")
	}
	if every < quickest {
		return usagef("--every takes %v or more, not %v", quickest, every)
	}
	t, err := l.open()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, func() { interrupt(t) })()
	err = record(ctx, c.out, t, inspect.Options{Stacks: stacks}, every, length)
	return cmp.Or(err, t.Close())
}

// errNothing says that nothing was seen before a signal came.
var errNothing = errors.New("it was ended before it had seen anything")

// record writes snapshots until the time is over, the process ends or ctx does.
func record(ctx context.Context, w io.Writer, t subject, o inspect.Options, every, length time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for end, n := time.Now().Add(length), 0; ; n++ {
		p, err := t.Snapshot(o)
		switch {
		case err != nil && n > 0 && (errors.Is(err, os.ErrProcessDone) || ctx.Err() != nil):
			return nil
		case err != nil && ctx.Err() != nil:
			return errNothing
		case err != nil:
			return err
		}
		if err := p.WriteJSON(w); err != nil {
			return fmt.Errorf("cannot write the output; look at where it goes: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if now.After(end) {
				return nil
			}
		}
	}
}

func runDiff(c *console, args []string) error {
	o, limit := options{verb: "diff"}, 10
	o.number(&limit, "limit", "a whole number from 1 up", 1<<30)
	files, err := o.parse(args)
	if err != nil {
		return err
	}
	switch len(files) {
	case 0:
		return usagef("a file is missing, as in: rondo diff FILE, or rondo diff BEFORE AFTER")
	case 1, 2:
	default:
		return none(o.verb, files[2:])
	}
	before, after, err := firstAndLast(files[0])
	if err == nil && len(files) == 2 {
		_, after, err = firstAndLast(files[1])
	}
	if err != nil {
		return err
	}
	if len(files) == 1 && before == after {
		return fmt.Errorf("%s has one snapshot only: name another file, too, or record for longer", files[0])
	}
	out := bufio.NewWriter(c.out)
	compare(out, before, after, limit, columns(c.out))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("cannot write the output; look at where it goes: %w", err)
	}
	return nil
}

// firstAndLast reads the first and the last snapshot in a file.
func firstAndLast(name string) (first, last *inspect.Program, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("there is no snapshot: %w", err)
	}
	defer f.Close()
	for p, err := range inspect.ReadRecording(bufio.NewReader(f)) {
		if err != nil && last != nil && errors.Is(err, io.ErrUnexpectedEOF) {
			break // Its writing was interrupted.
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if first == nil {
			first = p
		}
		last = p
	}
	if last == nil {
		return nil, nil, fmt.Errorf("%s has no snapshot", name)
	}
	return first, last, nil
}

// compare writes what is different between two snapshots, so many rows of each kind.
func compare(out *bufio.Writer, before, after *inspect.Program, limit, width int) {
	fmt.Fprintf(out, "process %d, from %s to %s\n", after.PID, before.Taken.Format("15:04:05.0"), after.Taken.Format("15:04:05.0"))
	if before.PID != after.PID {
		fmt.Fprintf(out, "The first snapshot is of process %d: only what has the same numbers is compared.\n", before.PID)
	}
	for _, l := range after.Loops {
		fmt.Fprintln(out)
		if old := earlier(before, l); old != nil {
			compareLoops(out, old, l, limit, width)
		} else {
			fmt.Fprintf(out, "%s: has started, with %s\n", l.Name, plural(len(l.Tasks), "task"))
		}
	}
	for _, l := range before.Loops {
		if earlier(after, l) == nil {
			fmt.Fprintf(out, "\n%s: has ended\n", l.Name)
		}
	}
}

// A change is a task in two snapshots.
type change struct{ old, now *inspect.Task }

func (c change) busy() time.Duration { return c.now.Busy - c.old.Busy }

// unmoved reports whether the task has waited all the time.
func (c change) unmoved() bool {
	return c.now.State == "waiting" && !c.now.Moved && c.now.Switches == c.old.Switches
}

func compareLoops(out *bufio.Writer, old, l *inspect.Loop, limit, width int) {
	before := make(map[uint64]*inspect.Task, len(old.Tasks))
	for _, t := range old.Tasks {
		before[t.ID] = t
	}
	var both, still []change
	for _, t := range l.Tasks {
		if o := before[t.ID]; o != nil {
			c := change{o, t}
			if both = append(both, c); c.unmoved() {
				still = append(still, c)
			}
		}
	}
	apart := l.Uptime - old.Uptime
	fmt.Fprintf(out, "%s: %s, then %s; %s%s started and %s ended in %s, %s switches a second, idle %s\n", l.Name,
		plural(len(old.Tasks)+old.Omitted, "task"), count(len(l.Tasks)+l.Omitted), moreConns(old, l), count(l.Spawned-old.Spawned),
		count(int(l.Spawned-old.Spawned)-(len(l.Tasks)+l.Omitted-len(old.Tasks)-old.Omitted)), short(apart),
		rate(true, since(l.Switches, old.Switches, apart.Seconds())), percent(l.Idle-old.Idle, apart))
	for _, s := range l.Servers {
		if i := slices.IndexFunc(old.Servers, func(o inspect.Server) bool { return o.Name == s.Name }); i >= 0 {
			was := old.Servers[i]
			fmt.Fprintf(out, "server %s: %s, then %s\n", s.Name, plural(int(was.Open), "connection"), s.Since(was).Counts())
		} else {
			fmt.Fprintf(out, "server %s; it has started\n", s)
		}
	}
	grown(out, "FUNCTION", old.Groups(inspect.ByFunc), l.Groups(inspect.ByFunc), limit, width)
	grown(out, "WAITS FOR", old.Groups(inspect.ByWait), l.Groups(inspect.ByWait), limit, width)
	slices.SortStableFunc(both, func(a, b change) int {
		return cmp.Or(cmp.Compare(b.busy(), a.busy()), cmp.Compare(b.now.Switches-b.old.Switches, a.now.Switches-a.old.Switches))
	})
	rows := [][]string{{"BUSIEST", "BUSY", "SHARE", "SWITCHES", "FUNCTION"}}
	for _, c := range both {
		if n := c.now.Switches - c.old.Switches; len(rows) <= limit && (n > 0 || c.busy() > 0) {
			rows = append(rows, []string{withName(c.now), known(c.busy()), percent(c.busy(), apart), count(n), shortFunc(c.now.Func)})
		}
	}
	section(out, rows, []int{1, 2, 3}, width)
	slices.SortStableFunc(still, func(a, b change) int { return cmp.Compare(b.now.Since, a.now.Since) })
	rows = [][]string{{"NEVER MOVED", "SINCE", "WAITS FOR", "FUNCTION"}}
	for _, c := range still[:min(len(still), limit)] {
		rows = append(rows, []string{withName(c.now), short(c.now.Since), c.now.Waiting, shortFunc(c.now.Func)})
	}
	if more := len(still) - limit; more > 0 {
		rows = append(rows, []string{"and " + plural(more, "more task"), "", "", ""})
	}
	section(out, rows, []int{1}, width)
}

// moreConns says how many connections a loop had and has, if that is known.
func moreConns(old, l *inspect.Loop) string {
	if old.Conns == nil || l.Conns == nil {
		return ""
	}
	return fmt.Sprintf("%s, then %s; ", plural(*old.Conns, "connection"), count(*l.Conns))
}

// grown writes the groups whose number of tasks has changed, those first that have
// grown most.
func grown(out *bufio.Writer, title string, old, now []inspect.Group, limit, width int) {
	type growth struct {
		key      string
		from, to int
	}
	places := make(map[string]int)
	var all []growth
	for _, g := range old {
		places[g.Key], all = len(all), append(all, growth{g.Key, g.Tasks, 0})
	}
	for _, g := range now {
		i, ok := places[g.Key]
		if !ok {
			i, all = len(all), append(all, growth{key: g.Key})
		}
		all[i].to = g.Tasks
	}
	all = slices.DeleteFunc(all, func(g growth) bool { return g.from == g.to })
	slices.SortStableFunc(all, func(a, b growth) int { return cmp.Compare(b.to-b.from, a.to-a.from) })
	rows := [][]string{{title, "BEFORE", "AFTER", "CHANGE"}}
	for i, g := range all {
		// Those that have shrunk most are last.
		if i < limit || i >= len(all)-limit/2 {
			rows = append(rows, []string{shortFunc(g.key), count(g.from), count(g.to), fmt.Sprintf("%+d", g.to-g.from)})
		}
	}
	section(out, rows, []int{1, 2, 3}, width)
}

// section writes rows below their titles, if there are any.
func section(out *bufio.Writer, rows [][]string, numbers []int, width int) {
	if len(rows) > 1 {
		fmt.Fprintln(out)
		writeRows(out, rows, numbers, width)
	}
}

func withName(t *inspect.Task) string { return fmt.Sprintf("#%d %s", t.ID, t.Name) }

// percent writes a share of a time.
func percent(part, whole time.Duration) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*min(1, max(0, float64(part)/float64(whole))))
}

// flight writes what the tasks did in the time before, and says how much that is.
func (l *look) flight(c *console, last time.Duration) error {
	t, err := l.open()
	if err != nil {
		return err
	}
	f, err := t.Flight(last)
	if err = cmp.Or(err, t.Close()); err != nil {
		return err
	}
	if len(f.Loops) == 0 {
		return errors.New("no loop is running in it")
	}
	any := false
	for _, one := range f.Loops {
		if one.Lost != "" {
			fmt.Fprintf(c.err, "rondo record: %s: %s\n", one.Name, one.Lost)
			continue
		}
		steps, tasks := one.Count()
		any = any || steps > 0
		long := time.Duration(0)
		if steps > 0 {
			long = one.Steps[steps-1].To - one.Steps[0].From
		}
		fmt.Fprintf(c.err, "rondo record: %s: %d steps of %d tasks in %v\n", one.Name, steps, tasks, long.Round(time.Microsecond))
	}
	if !any {
		return errors.New("no loop has a record of that time: ask for a longer one with --last")
	}
	if err := f.WriteTrace(c.out); err != nil {
		return fmt.Errorf("cannot write the output; look at where it goes: %w", err)
	}
	return nil
}
