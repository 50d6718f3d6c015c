package nats

// Subjects are checked before they are used. The law: a subject that the server would not
// accept is the error of the call that has it. The server would answer it by an error that
// no caller can be told, or by the end of the connection for all.

import (
	"fmt"
	"strings"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// lineMax is how many bytes the server accepts in the line that a message begins with. It
// closes a connection that sends a longer one. This is its default: it tells no client
// what it is set to.
const lineMax = 4096

// sizesMax is how many bytes of the line are neither subject, reply nor queue.
const sizesMax = 40

// checkLine returns an error if no message can be published with these subjects, or
// none can be received. The second is a reply or a queue, and may be empty.
func checkLine(subject, second string) error {
	if n := len(subject) + len(second); n > lineMax-sizesMax {
		return fmt.Errorf("%w: %d bytes with its reply or queue, and a server accepts %d", natsgo.ErrBadSubject, n, lineMax-sizesMax)
	}
	return nil
}

// checkSubscribe returns an error if the server would not accept the subscription.
func checkSubscribe(subject, queue string) error {
	if strings.HasPrefix(subject, ">.") || strings.Contains(subject, ".>.") {
		return natsgo.ErrBadSubject
	}
	return checkLine(subject, queue)
}

// checkStored returns an error if no message can be stored under subject. The client asks for
// the server's answer to an inbox of its own, below which the answer has one token more.
func checkStored(js jetstream.JetStream, subject string) error {
	reply := ""
	if nc := js.Conn(); nc != nil {
		reply = nc.NewInbox() + ".12345678"
	}
	return checkPublish(subject, reply)
}

// checkPublish returns an error if no message can be published under subject, with an
// answer to reply, which may be empty.
func checkPublish(subject, reply string) error {
	if !complete(subject) || reply != "" && !complete(reply) {
		return natsgo.ErrBadSubject
	}
	return checkLine(subject, reply)
}

// complete reports whether s is a subject without wildcards: tokens of at least one
// character, without blanks, with dots between them.
func complete(s string) bool {
	first := 0 // of the token
	for i := range len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\r', '\n':
			return false
		case '.':
			if !token(s[first:i]) {
				return false
			}
			first = i + 1
		}
	}
	return token(s[first:])
}

func token(s string) bool { return s != "" && s != "*" && s != ">" }

// shown returns a subject as errors show it.
func shown(subject string) string {
	const most = 100
	if len(subject) <= most {
		return fmt.Sprintf("%q", subject)
	}
	return fmt.Sprintf("%q...", subject[:most])
}
