// Command register is a register of one value that several processes store together. It
// can be read and written while a minority of them is down, and every read returns what
// was written last (Attiya, Bar-Noy, Dolev: Sharing Memory Robustly in Message-Passing
// Systems, 1995). To try it, start three replicas, each with a folder of its own, and then:
//
//	go run ./examples/register -serve :7001 -data /tmp/r1 &
//	go run ./examples/register -serve :7002 -data /tmp/r2 &
//	go run ./examples/register -serve :7003 -data /tmp/r3 &
//	go run ./examples/register -replicas localhost:7001,localhost:7002,localhost:7003 set hello
//	go run ./examples/register -replicas localhost:7001,localhost:7002,localhost:7003 get
//
// Its test runs five replicas and three clients, unchanged, on simulated hosts that
// crash, lose power and are cut off from each other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

// Mistakes that the test plants, to see that it finds them.
var mistakes struct {
	noWriteBack bool // a read does not store what it returns
	minority    bool // two of five are enough
	noSync      bool // a replica answers before its disk has the value
	ownClock    bool // a writer takes the time for the number of its write
}

// serve is a replica. The folder must be there.
func serve(ctx context.Context, address, folder string) error {
	r, err := openReplica(ctx, folder)
	if err != nil {
		return err
	}
	l, err := socket.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return signals.Serve(ctx, &socket.Server{Handler: r.handle, OnError: quiet}, l, time.Second)
}

// command does what the arguments say.
func command(ctx context.Context, replicas []string, args []string) error {
	c := &client{name: fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()), replicas: replicas, patience: 5 * time.Second}
	switch {
	case replicas[0] == "":
		return errors.New("no replicas: name them with -replicas")
	case len(args) == 1 && args[0] == "get":
		value, err := c.read(ctx)
		if err == nil {
			fmt.Println(value)
		}
		return err
	case len(args) == 2 && args[0] == "set" && strings.Contains(args[1], "\n"):
		return errors.New("a value is one line")
	case len(args) == 2 && args[0] == "set":
		return c.write(ctx, args[1])
	}
	return errors.New("want: get, or set value")
}

func main() {
	address := flag.String("serve", "", "be a replica, and listen here")
	folder := flag.String("data", ".", "where a replica keeps its value")
	replicas := flag.String("replicas", "", "the replicas, with commas between them")
	flag.Parse()
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		if *address != "" {
			if err := os.MkdirAll(*folder, 0o700); err != nil {
				return err
			}
			return serve(ctx, *address, *folder)
		}
		return command(ctx, strings.Split(*replicas, ","), flag.Args())
	})
	if err != nil {
		log.Fatal(err)
	}
}
