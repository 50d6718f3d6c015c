package block

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/rondo-go/rondo"
)

// handle is a task because a Server has it.
func handle(ctx context.Context, c net.Conn) error {
	up, err := net.Dial("tcp", "localhost:1") // want `net.Dial stops the loop, because this runs in a task: use socket.Dial`
	if err != nil {
		return err
	}
	_, err = io.Copy(up, c)
	time.Sleep(1) // want `time.Sleep stops the loop`
	return err
}

func channels(ctx context.Context, in chan int, quit <-chan struct{}) error {
	select { // want `a select stops the loop, because this runs in a task: use rondo.Select, or rondo.Receive for a channel of goroutines`
	case <-in:
	case <-ctx.Done():
	}
	select {
	case v := <-in:
		in <- v
	default:
	}
	for range in { // want `a range over a channel stops the loop`
	}
	<-time.After(time.Second) // want `<-time.After stops the loop, because this runs in a task: use rondo.Sleep, or rondo.Every`
	one := make(chan int, 1)
	one <- 1
	_, err := rondo.Offload(ctx, func(context.Context) (int, error) {
		<-quit
		time.Sleep(1)
		return 0, nil
	})
	go func() { <-quit }()
	<-ctx.Done() // want `<-ctx.Done\(\) stops the loop, because this runs in a task: use rondo.WaitCanceled\(ctx\)`
	return err
}

func fixed(ctx context.Context) error {
	time.Sleep(time.Second) // want `time.Sleep stops the loop`
	return rondo.Yield(ctx)
}
