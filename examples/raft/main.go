// Command raft is a key-value service that several servers keep together, so that it
// goes on while a minority of them is down. A command that was answered is never lost,
// and every read returns what was written last (Ongaro, Ousterhout: In Search of an
// Understandable Consensus Algorithm, 2014). To try it, start three servers, and then:
//
//	go run ./examples/raft -id 1 -peers localhost:7201,localhost:7202,localhost:7203 -data /tmp &
//	go run ./examples/raft -id 2 -peers localhost:7201,localhost:7202,localhost:7203 -data /tmp &
//	go run ./examples/raft -id 3 -peers localhost:7201,localhost:7202,localhost:7203 -data /tmp &
//	go run ./examples/raft -peers localhost:7201,localhost:7202,localhost:7203 set color red
//	go run ./examples/raft -peers localhost:7201,localhost:7202,localhost:7203 get color
//
// Read journal.go first, then node.go, election.go and leader.go. There are no snapshots
// and the servers are always the same ones: the log holds all that was ever written, so
// this is for little data. A leader asks a majority before it answers a read, because
// that needs no clocks; a lease would be faster and would trust them.
//
// Its test runs the servers, unchanged, on simulated hosts that crash, lose power, stand
// still and are cut off from each other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
)

// Mistakes that the test plants, to see that it finds them.
var mistakes struct {
	noSync      bool // an entry is confirmed before the disk has it
	voteLater   bool // a vote is given before the disk has it
	commitOld   bool // an entry of an older term is committed because a majority has it
	readAlone   bool // a leader reads without asking whether it still is one
	keepTail    bool // an entry that is replaced leaves those behind it in the log
	repeatTwice bool // a command that comes twice is done twice
}

// do does what the arguments say, as a client.
func do(ctx context.Context, c *client, args []string) (err error) {
	value := ""
	switch {
	case len(args) == 2 && args[0] == "get":
		value, err = c.get(ctx, args[1])
	case len(args) == 3 && args[0] == "set":
		value, err = c.set(ctx, args[1], args[2])
	case len(args) == 3 && args[0] == "append":
		value, err = c.append(ctx, args[1], args[2])
	default:
		return errors.New("want: get key, set key value, or append key value")
	}
	if err == nil {
		fmt.Println(value)
	}
	return err
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func main() {
	id := flag.Int("id", 0, "be the server with this number, from 1 on: its place among the peers")
	peers := flag.String("peers", "", "the addresses of all servers, with commas between them")
	folder := flag.String("data", ".", "where a server keeps its journal")
	flag.Parse()
	c := config{id: *id, peers: strings.Split(*peers, ","), folder: *folder, most: 64, random: rand.IntN, logf: say}
	err := rondo.Run(context.Background(), func(ctx context.Context) error {
		switch {
		case *peers == "":
			return errors.New("no servers: name them with -peers")
		case c.id < 0 || c.id > len(c.peers):
			return fmt.Errorf("there is no server %d among the peers %q", c.id, c.peers)
		case c.id == 0:
			err := rondo.Timeout(ctx, 10*time.Second, func(ctx context.Context) error {
				name := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
				return do(ctx, newClient(name, c.peers), flag.Args())
			})
			if rondo.TimedOut(ctx, err) {
				err = errors.New("nobody leads: a majority of the servers must be up")
			}
			return err
		}
		n, err := openNode(ctx, c)
		if err != nil {
			return err
		}
		return n.serve(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
}
