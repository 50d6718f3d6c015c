// Command dns is cookbook/dns with goroutines.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func answer(ctx context.Context, pc net.PacketConn, question []byte, to net.Addr) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return // not for us
	}
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
		return
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
}

func serve(ctx context.Context) error {
	pc, err := net.ListenPacket("udp", os.Args[1])
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { pc.Close() })()
	defer pc.Close()
	fmt.Println("listening on", pc.LocalAddr())
	slots := make(chan struct{}, 1000)
	var answers sync.WaitGroup
	defer answers.Wait()
	for buffer := make([]byte, 1500); ; {
		n, from, err := pc.ReadFrom(buffer)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		question := append([]byte(nil), buffer[:n]...)
		select {
		case slots <- struct{}{}:
			answers.Go(func() {
				defer func() { <-slots }()
				answer(ctx, pc, question, from)
			})
		default:
		}
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx); err != nil {
		log.Fatal(err)
	}
}
