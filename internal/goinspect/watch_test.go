package goinspect

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// stalling is a memory of which a read waits until it may go on.
type stalling struct {
	Memory
	v      vigil
	enough chan bool
	next   Memory
}

func (s *stalling) watched() (*vigil, func() Memory) { return &s.v, func() Memory { return s.next } }

func (s *stalling) Read(addr uint64, b []byte) error {
	s.v.begin(addr, addr+uint64(len(b)), true)
	<-s.enough
	if !s.v.end() {
		runtime.Goexit()
	}
	return nil
}

// TestWatch: what reads is given up with a read that does not end, and does nothing any more when
// that ends at last. Reads that end, however many, are not given up, nor is what takes long without
// one.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stalling{enough: make(chan bool)}
		m.next = &stalling{}
		after := false
		if next := Watch(m, func() { _ = m.Read(4096, make([]byte, 8)); after = true }); next != m.next {
			t.Error("a read that does not end is not given up")
		}
		if m.v.ended.Load() {
			t.Error("the read has ended")
		}
		m.enough <- true
		synctest.Wait()
		if after || !m.v.ended.Load() {
			t.Errorf("after its read what was given up went on: %v; it is known that it has ended: %v", after, m.v.ended.Load())
		}
		quick := &stalling{enough: make(chan bool)}
		go func() {
			for range 3 {
				<-time.After((mostLooks - 1) * lookEvery)
				quick.enough <- true
			}
		}()
		read := 0
		if next := Watch(quick, func() {
			for range 3 {
				_ = quick.Read(4096, make([]byte, 8))
				read++
			}
			<-time.After((3 * mostLooks) * lookEvery)
		}); next != Memory(quick) || read != 3 {
			t.Errorf("after %d reads of 3 that each end it is given up", read)
		}
	})
}
