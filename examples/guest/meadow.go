package main

import (
	"context"
	"time"

	"github.com/rondo-go/rondo"
)

// The size of a meadow, in steps.
const width, height = 60, 20

// A meadow is what there is to draw. Its animals change it inside Step, and the host draws it
// between two Steps, on the same goroutine: it needs no lock.
type meadow struct {
	rabbits []*animal
	fox     *animal
	caught  int
}

// An animal is a task that walks.
type animal struct {
	x, y int
	mood string // what it does now
}

// live is the main task: rabbits walk about, and a fox is after them, until it has caught all.
func (m *meadow) live(ctx context.Context) error {
	return rondo.Group(ctx, func(g *rondo.Scope) error {
		for i := range 8 {
			r := &animal{x: i * 37 % width, y: i * 13 % height}
			m.rabbits = append(m.rabbits, r)
			g.Go(func(ctx context.Context) error { return m.graze(ctx, r) })
		}
		return m.hunt(g)
	})
}

// graze is the life of a rabbit: it eats, and walks when the fox is near.
func (m *meadow) graze(ctx context.Context, r *animal) error {
	for m.lives(r) {
		r.mood = "eats"
		for m.fox == nil || distance(r, m.fox) > 8 {
			if err := rondo.Sleep(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
		r.mood = "runs"
		for range 12 {
			r.step(sign(r.x-m.fox.x), sign(r.y-m.fox.y))
			if err := rondo.Sleep(ctx, 70*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// hunt is the life of the fox: it sleeps, picks the nearest rabbit, and follows it.
func (m *meadow) hunt(ctx context.Context) error {
	m.fox = &animal{x: width / 2, y: height / 2, mood: "sleeps"}
	for len(m.rabbits) > 0 {
		if err := rondo.Sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		prey := m.rabbits[0]
		for _, r := range m.rabbits {
			if distance(r, m.fox) < distance(prey, m.fox) {
				prey = r
			}
		}
		m.fox.mood = "hunts"
		for distance(prey, m.fox) > 0 {
			m.fox.step(sign(prey.x-m.fox.x), sign(prey.y-m.fox.y))
			if err := rondo.Sleep(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
		m.fox.mood = "sleeps"
		m.catch(prey)
	}
	return nil
}

// lives reports whether r is on the meadow.
func (m *meadow) lives(r *animal) bool {
	for _, other := range m.rabbits {
		if other == r {
			return true
		}
	}
	return false
}

// catch removes a rabbit.
func (m *meadow) catch(prey *animal) {
	for i, r := range m.rabbits {
		if r == prey {
			m.rabbits = append(m.rabbits[:i], m.rabbits[i+1:]...)
			m.caught++
			return
		}
	}
}

// step moves a, but not over the edge.
func (a *animal) step(dx, dy int) {
	a.x = min(max(a.x+dx, 0), width-1)
	a.y = min(max(a.y+dy, 0), height-1)
}

func distance(a, b *animal) int { return max(abs(a.x-b.x), abs(a.y-b.y)) }

func abs(n int) int { return max(n, -n) }

func sign(n int) int { return min(max(n, -1), 1) }
