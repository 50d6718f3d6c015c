//go:build !js

// Command guest is a meadow in which each animal is a task. The loop of the program draws a
// frame 30 times a second; the loop of the tasks is a guest in it. Built for GOOS=js, the
// frames are those of a page in a browser: see index.html.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/rondo-go/rondo/guest"
)

func main() {
	frames := flag.Int("frames", 0, "how many frames to draw, 0 until the fox has caught all")
	flag.Parse()
	var m meadow
	tasks := guest.New(context.Background(), nil, nil, m.live)
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	ticker := time.NewTicker(time.Second / 30)
	for n, interrupted := 0, false; !interrupted && (*frames == 0 || n < *frames); n++ {
		if tasks.Step(4*time.Millisecond) == guest.Ended {
			break
		}
		m.draw()
		select {
		case <-ticker.C:
		case <-interrupt:
			interrupted = true
		}
	}
	if err := tasks.Close(); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
	fmt.Printf("%d rabbits were caught, %d are left\n", m.caught, len(m.rabbits))
}

// draw writes the meadow over the last one.
func (m *meadow) draw() {
	lines := make([][]byte, height)
	for y := range lines {
		lines[y] = []byte(strings.Repeat(".", width))
	}
	for _, r := range m.rabbits {
		lines[r.y][r.x] = r.mood[0]
	}
	mood := ""
	if m.fox != nil {
		lines[m.fox.y][m.fox.x] = 'F'
		mood = "the fox " + m.fox.mood
	}
	fmt.Print("\x1b[H\x1b[J")
	for _, line := range lines {
		fmt.Printf("%s\n", line)
	}
	fmt.Printf("%d rabbits (e: it eats, r: it runs), %d caught, %s\n", len(m.rabbits), m.caught, mood)
}
