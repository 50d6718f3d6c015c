package sim

// This file lets a program on a host run further loops, as package shard does. Each is
// a host of its own: the seed decides which of them runs when, and so when one of them
// sees what another has handed to it. It sees all of it in the order in which it was
// handed in; see internal/inbox.

import (
	"context"
	"fmt"

	"github.com/rondo-go/rondo/internal/driver"
)

var _ driver.Beside = (*process)(nil)

// RunBeside adds a host that runs main.
func (p *process) RunBeside(name string, main func(ctx context.Context) error) {
	w := p.world
	free := name
	for i := 2; w.byName[free] != nil; i++ {
		free = fmt.Sprintf("%s.%d", name, i)
	}
	w.Host(free, main)
}

// Wake ends the sleep of the loop. What comes from another host is seen at once, what
// comes from a goroutine when nothing else can run; see takeWoken.
func (p *process) Wake() {
	again := p.woken.Swap(true)
	if p.Within() {
		if p.polling {
			p.world.makeReady(p)
		}
	} else if !again {
		p.world.wake(p)
	}
}

// Within is that of driver.Within.
func (p *process) Within() bool {
	loop := p.world.inside.Load()
	return loop != nil && (*loop).Inside()
}
