package sim

// This file lets a program on a host run further loops, as package shard does. Each is
// a host of its own: the seed decides which of them runs when, and so when one of them
// sees what another has handed to it.

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
