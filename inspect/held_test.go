package inspect_test

import (
	"strings"
	"testing"

	"github.com/rondo-go/rondo/inspect"
	"github.com/rondo-go/rondo/internal/goinspect"
)

// TestSwallows: a task that goes on after it was cancelled drops the error of its waits if it is in
// one, which the first call shows that is not the runtime's.
func TestSwallows(t *testing.T) {
	const drops, goesOn = "it was cancelled and drops the error of its waits", "it was cancelled and goes on"
	for calls, want := range map[string]string{
		"runtime.coroswitch github.com/rondo-go/rondo.Sleep main.f":                           drops,
		"internal/poll.runtime_pollWait github.com/rondo-go/rondo/socket.(*Conn).Read main.f": drops,
		"github.com/rondo-go/rondo/socket.(*Conn).Read main.f":                                drops,
		"main.f github.com/rondo-go/rondo.(*Scope).Go":                                        goesOn,
		"runtime.asyncPreempt main.f github.com/rondo-go/rondo.Run":                           goesOn,
		"github.com/rondo-go/rondolike.F github.com/rondo-go/rondo.Run":                       goesOn,
		"runtime.goexit": goesOn,
		"":               goesOn,
	} {
		if got := inspect.Swallows(stackOf(goinspect.Running, calls)); !strings.HasPrefix(got, want) {
			t.Errorf("at %s: %s; want that %s", calls, got, want)
		}
	}
}

// stackOf is the stack of a goroutine with these calls, the innermost first.
func stackOf(state goinspect.State, calls string) goinspect.Stack {
	s := goinspect.Stack{State: state}
	for call := range strings.FieldsSeq(calls) {
		s.Frames = append(s.Frames, goinspect.Frame{Func: call})
	}
	return s
}

// TestDoing: what a goroutine does and what to use instead, by its innermost calls.
func TestDoing(t *testing.T) {
	const waiting, running, syscall = goinspect.Waiting, goinspect.Running, goinspect.Syscall
	for _, test := range []struct {
		state       goinspect.State
		calls, read string
		how, advice string
	}{
		{running, "main.f", "", "computing", "rondo.Yield"},
		{goinspect.Runnable, "runtime.asyncPreempt main.f", "", "computing", "rondo.Yield"},
		{running, "runtime.mallocgc main.f", "", "computing", "rondo.Yield"},
		{running, "runtime.mallocgc runtime.main", "", "computing", "rondo.Yield"},
		{running, "", "", "computing", "rondo.Yield"},
		{running, "runtime.gcAssistAlloc runtime.mallocgc main.f", "", "waiting for the garbage collector", "allocate less"},
		{waiting, "runtime.gopark runtime.goparkunlock runtime.gcParkAssist runtime.gcAssistAlloc runtime.mallocgc main.f", "", "waiting for the garbage collector", "allocate less"},
		{waiting, "runtime.gopark runtime.semacquire1 runtime.semacquire runtime.gcStart runtime.mallocgc main.f", "", "waiting for the garbage collector", "allocate less"},
		{waiting, "runtime.gopark runtime.semacquire1 sync.runtime_SemacquireMutex sync.(*Mutex).lockSlow main.f", "", "blocked on a lock", "rondo.Mutex"},
		{waiting, "runtime.gopark runtime.semacquire1 sync.runtime_SemacquireRWMutexR sync.(*RWMutex).RLock main.f", "", "blocked on a lock", "sync.RWMutex"},
		{waiting, "runtime.gopark runtime.semacquire1 sync.runtime_SemacquireWaitGroup sync.(*WaitGroup).Wait main.f", "", "blocked in sync.WaitGroup.Wait", "rondo.Group"},
		{waiting, "runtime.gopark runtime.goparkunlock sync.runtime_notifyListWait sync.(*Cond).Wait main.f", "", "blocked in sync.Cond.Wait", "rondo.Cond"},
		{waiting, "runtime.gopark runtime.semacquire1 internal/sync.runtime_SemacquireMutex internal/sync.(*Mutex).lockSlow sync.(*Mutex).Lock sync.(*Once).doSlow sync.(*Once).Do main.f", "", "blocked in sync.Once.Do", "Offload"},
		{waiting, "runtime.gopark runtime.chanrecv runtime.chanrecv1 main.f sync.(*Once).doSlow", "", "blocked on a channel", "rondo.Queue"},
		{waiting, "runtime.gopark runtime.selectgo main.f", "", "blocked in a select", "rondo.Select"},
		{waiting, "main.f", "GC assist wait", "waiting for the garbage collector", "allocate less"},
		{waiting, "main.f", "wait for GC cycle", "waiting for the garbage collector", "allocate less"},
		{running, "syscall.RawSyscall main.f", "in a system call", "in a system call", "Offload"},
		{running, "internal/runtime/syscall/linux.Syscall6 syscall.RawSyscall6 main.f", "sampled by the kernel's profiler", "in a system call", "Offload"},
		{running, "syscall.Getpagesize main.f", "sampled by the kernel's profiler", "computing", "rondo.Yield"},
		{running, "main.f", "stopped by the kernel", "computing", "rondo.Yield"},
		{syscall, "runtime.cgocall main._Cfunc_f main.f", "", "in a call of C", "Offload"},
		{syscall, "syscall.Syscall main.f", "", "in a system call", "Offload"},
		{goinspect.Unknown, "", "", "not known", "try again"},
	} {
		s := stackOf(test.state, test.calls)
		s.How = test.read
		if how, advice := inspect.Doing(s); how != test.how || !strings.Contains(advice, test.advice) {
			t.Errorf("%v at %s (%s): %s, %s; want %s, %s", test.state, test.calls, test.read, how, advice, test.how, test.advice)
		}
	}
}
