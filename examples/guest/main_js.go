// Command guest is a page in a browser: a meadow in which each animal is a task. The host is
// requestAnimationFrame, which calls back before each frame.
package main

import (
	"context"
	"fmt"
	"syscall/js"
	"time"

	"github.com/rondo-go/rondo/guest"
)

// side is the length of a step on the canvas, in pixels.
const side = 12

func main() {
	var m meadow
	tasks := guest.New(context.Background(), nil, nil, m.live)
	done := make(chan error)
	window := js.Global()
	canvas := window.Get("document").Call("getElementById", "meadow")
	var frame js.Func
	frame = js.FuncOf(func(js.Value, []js.Value) any {
		if tasks.Step(4*time.Millisecond) == guest.Ended {
			go func() { done <- tasks.Close() }()
			return nil
		}
		m.draw(canvas.Call("getContext", "2d"))
		window.Call("requestAnimationFrame", frame)
		return nil
	})
	window.Call("requestAnimationFrame", frame)
	if err := <-done; err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d rabbits were caught, %d are left\n", m.caught, len(m.rabbits))
}

// draw paints the meadow.
func (m *meadow) draw(on js.Value) {
	square := func(a *animal, color string) {
		on.Set("fillStyle", color)
		on.Call("fillRect", a.x*side, a.y*side, side, side)
	}
	on.Set("fillStyle", "honeydew")
	on.Call("fillRect", 0, 0, width*side, height*side)
	for _, r := range m.rabbits {
		color := "saddlebrown"
		if r.mood == "runs" {
			color = "crimson"
		}
		square(r, color)
	}
	if m.fox != nil {
		square(m.fox, "darkorange")
	}
	on.Set("fillStyle", "black")
	on.Call("fillText", fmt.Sprintf("%d rabbits, %d caught", len(m.rabbits), m.caught), side, side)
}
