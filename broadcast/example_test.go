package broadcast_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/broadcast"
)

// A server whose limit can be changed while it runs.
func ExampleWatch() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		limit := broadcast.NewWatch(10)
		rondo.Go(ctx, func(ctx context.Context) error {
			defer limit.Close()
			if err := rondo.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
			limit.Set(20)
			return nil
		})
		for n := range limit.Reader().All(ctx) {
			fmt.Println("at most", n)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// at most 10
	// at most 20
}

// Two readers of a chat; the one that is slow misses lines, and knows how many.
func ExampleTopic() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		var chat broadcast.Topic[string]
		fast, slow := chat.Subscribe(8, broadcast.Drop), chat.Subscribe(2, broadcast.Skip)
		for _, line := range []string{"hello", "is anybody here", "yes", "good"} {
			if err := chat.Publish(ctx, line); err != nil {
				return err
			}
		}
		chat.Close()
		for line := range fast.All(ctx) {
			fmt.Println("fast:", line)
		}
		for line := range slow.All(ctx) {
			fmt.Println("slow:", line)
		}
		fmt.Println("slow missed", slow.Skipped())
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// fast: hello
	// fast: is anybody here
	// fast: yes
	// fast: good
	// slow: yes
	// slow: good
	// slow missed 2
}
