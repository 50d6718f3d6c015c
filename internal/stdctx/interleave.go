//go:build interleave

package stdctx

// With this build tag each atomic operation is a step: step is called before it,
// and the test decides there which goroutine goes on. ready, if it is not nil,
// says when this one can. Go's atomic operations are sequentially consistent, so
// trying every order of the steps tries everything that can happen.
var step = func(ready func() bool) {}

type pointer[T any] struct{ p *T }

func (p *pointer[T]) Load() *T   { step(nil); return p.p }
func (p *pointer[T]) Store(v *T) { step(nil); p.p = v }

func (p *pointer[T]) CompareAndSwap(old, new *T) bool {
	step(nil)
	if p.p != old {
		return false
	}
	p.p = new
	return true
}

type integer struct{ n int64 }

func (i *integer) Load() int64   { step(nil); return i.n }
func (i *integer) Store(v int64) { step(nil); i.n = v }

type boolean struct{ b bool }

func (b *boolean) Load() bool   { step(nil); return b.b }
func (b *boolean) Store(v bool) { step(nil); b.b = v }

func (b *boolean) CompareAndSwap(old, new bool) bool {
	step(nil)
	if b.b != old {
		return false
	}
	b.b = new
	return true
}

type mutex struct{ locked bool }

func (m *mutex) Lock() {
	step(func() bool { return !m.locked })
	m.locked = true
}

func (m *mutex) Unlock() { m.locked = false }
