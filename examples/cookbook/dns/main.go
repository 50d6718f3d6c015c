// Command dns answers each question with 127.0.0.53, after a look-up that takes 20 ms, and
// drops questions beyond a thousand at once.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/signals"
	"github.com/rondo-go/rondo/socket"
)

func answer(ctx context.Context, pc net.PacketConn, question []byte, to net.Addr) error {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil // not for us
	}
	if err := rondo.Sleep(ctx, 20*time.Millisecond); err != nil {
		return err
	}
	m.Response, m.Additionals = true, nil
	for _, q := range m.Questions {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 53}},
		})
	}
	if out, err := m.Pack(); err == nil {
		_, _ = pc.WriteTo(out, to) // a client that has gone is not our error
	}
	return rondo.Check(ctx)
}

func serve(ctx context.Context) error {
	pc, err := socket.ListenPacket(ctx, "udp", os.Args[1])
	if err != nil {
		return err
	}
	defer pc.Close()
	fmt.Println("listening on", pc.LocalAddr())
	slots := rondo.NewSemaphore(1000)
	for buffer := make([]byte, 1500); ; {
		n, from, err := pc.ReadFrom(buffer)
		if err != nil {
			return err
		}
		if question := append([]byte(nil), buffer[:n]...); slots.TryAcquire() {
			rondo.Go(ctx, func(ctx context.Context) error {
				defer slots.Release()
				return answer(ctx, pc, question, from)
			})
		}
	}
}

func main() {
	err := rondo.Run(context.Background(), func(ctx context.Context) error { return signals.Cancel(ctx, serve) })
	if _, asked := err.(signals.Error); !asked {
		log.Fatal(err)
	}
}
