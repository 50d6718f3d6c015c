package nats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats/internal/report"
)

// The headers of a dead letter, besides the job's own. Times are as in time.RFC3339Nano.
const (
	DeadReason     = "Rondo-Dead-Reason"     // the text of the error, in one line of at most 1,024 bytes
	DeadStack      = "Rondo-Dead-Stack"      // of a panic, the program's innermost function and its line
	DeadSubject    = "Rondo-Dead-Subject"    // the job's subject
	DeadID         = "Rondo-Dead-Id"         // the id of its Enqueue
	DeadStream     = "Rondo-Dead-Stream"     // the job's stream
	DeadConsumer   = "Rondo-Dead-Consumer"   // the consumer of Work
	DeadSequence   = "Rondo-Dead-Sequence"   // the job's number in its stream
	DeadDeliveries = "Rondo-Dead-Deliveries" // how often it was delivered
	DeadStored     = "Rondo-Dead-Stored"     // when it was stored
	DeadTime       = "Rondo-Dead-Time"       // when it failed for the last time

	deadPrefix = "Rondo-Dead-"
	reasonMax  = 1024
)

// Redeliver publishes the job of a dead letter again, under its own subject, with its data and
// its own headers, and suspends the task until the server has stored it. It is a new job then, of
// which no delivery has been counted. It does not acknowledge the letter. To redeliver all
// letters of a stream, call it in Work:
//
//	nats.Work(g, letters, 1, func(ctx context.Context, m jetstream.Msg) error {
//		return nats.Redeliver(ctx, js, m)
//	})
//
// A letter that is redelivered twice within the stream's window for duplicates is stored once.
// The error says that letter is no dead letter, or is that of Enqueue.
func Redeliver(ctx context.Context, js jetstream.JetStream, letter jetstream.Msg) error {
	if js == nil {
		panic("nats: Redeliver with a nil JetStream")
	}
	if letter == nil {
		panic("nats: Redeliver with a nil letter")
	}
	subject := letter.Headers().Get(DeadSubject)
	if subject == "" {
		return fmt.Errorf("nats: redeliver: the message under %s has no header %s, so it is no dead letter", shown(letter.Subject()), DeadSubject)
	}
	id := ""
	if meta, err := letter.Metadata(); err == nil {
		id = fmt.Sprintf("redeliver %s %d %d", meta.Stream, meta.Sequence.Stream, meta.Timestamp.UnixNano())
	}
	return enqueue(ctx, js, &natsgo.Msg{Subject: subject, Data: letter.Data(), Header: ownHeader(letter.Headers())}, id)
}

// ownHeader returns the headers that a program has set: not those that mean something to the
// server, and not those of a dead letter.
func ownHeader(h natsgo.Header) natsgo.Header {
	own := make(natsgo.Header)
	for k, values := range h {
		if !strings.HasPrefix(k, "Nats-") && !strings.HasPrefix(k, deadPrefix) {
			own[k] = values
		}
	}
	return own
}

// outlived reports whether m has been tried as often as it may, without a worker that could bury
// it, and then deals with it.
func (j *jobs) outlived(ctx context.Context, m jetstream.Msg) bool {
	if j.MaxAttempts == 0 || delivered(m) <= uint64(j.MaxAttempts) {
		return false
	}
	if n, err := j.attempts(ctx, m); err != nil || n <= uint64(j.MaxAttempts) {
		return false
	}
	j.failed(ctx, m, fmt.Errorf("nats: the job was delivered %d times and is still there: its workers have died, or its letter could not be stored", delivered(m)-1))
	return true
}

// attempts returns how many of the deliveries of m count, also when ctx is cancelled: what a job
// failed with is known only here, so its letter cannot be left to another worker.
func (j *jobs) attempts(ctx context.Context, m jetstream.Msg) (n uint64, err error) {
	n = delivered(m)
	if j.Returned == nil {
		return n, nil
	}
	var back uint64
	err = j.leave(ctx, func(ctx context.Context) error {
		count, err := j.returned(ctx, returnedKey(m))
		back = count
		return err
	})
	if err != nil { // the function may still run
		return n, err
	}
	return n - min(back, n), nil
}

// returned reads a count of the bucket. It may block.
func (j *jobs) returned(ctx context.Context, key string) (uint64, error) {
	e, err := j.Returned.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("nats: count what was given back: %w", err)
	}
	return strconv.ParseUint(string(e.Value()), 10, 64)
}

// returnedKey returns the key of a job in the bucket. The time tells it from a job of an earlier
// stream of the same name.
func returnedKey(m jetstream.Msg) string {
	meta, err := m.Metadata()
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%s.%s.%d.%d", keyWord(meta.Stream), keyWord(meta.Consumer), meta.Sequence.Stream, meta.Timestamp.UnixNano())
}

// keyWord writes a name in the characters that a key may have.
func keyWord(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// release gives a job back that has not failed. It may block. The error says that the delivery
// counts.
func (j *jobs) release(ctx context.Context, m jetstream.Msg) error {
	j.Meter.count(j.name, fateReturned)
	var err error
	if j.Returned != nil {
		key := returnedKey(m)
		var n uint64
		if n, err = j.returned(ctx, key); err == nil {
			_, err = j.Returned.Put(ctx, key, strconv.AppendUint(nil, n+1, 10))
		}
	}
	_ = m.Nak() // it fails if fn has answered, or the connection is closed
	return err
}

// bury ends a job that is not to be delivered again, and returns what to log of it, or "" if it
// is to be delivered again after all.
func (j *jobs) bury(ctx context.Context, m jetstream.Msg, failure error) (text string, more []any) {
	never := says(failure, ErrNoRetry)
	if !never {
		last, err := j.last(ctx, m)
		if err != nil {
			return "", []any{"attempts", err}
		}
		if !last {
			return "", nil
		}
	}
	err := j.leave(ctx, func(ctx context.Context) error {
		if err := m.InProgress(); err != nil { // fn may have answered itself
			return err
		}
		if j.DeadLetters != "" {
			if err := j.write(ctx, m, failure); err != nil {
				return err
			}
		}
		return m.Term()
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgAlreadyAckd):
		return "", nil
	case err != nil:
		return "", []any{"letter", err}
	case j.DeadLetters == "":
		return "nats: a job failed, and is not tried again", nil
	default:
		return "nats: a job failed for the last time, and is a dead letter now", []any{"letter", j.DeadLetters}
	}
}

// last reports whether m was delivered for the last time, as far as there are letters.
func (j *jobs) last(ctx context.Context, m jetstream.Msg) (bool, error) {
	n := delivered(m)
	if j.MaxAttempts == 0 {
		return j.DeadLetters != "" && j.deliveries > 0 && n >= uint64(j.deliveries), nil
	}
	if n < uint64(j.MaxAttempts) {
		return false, nil
	}
	n, err := j.attempts(ctx, m)
	return n >= uint64(j.MaxAttempts), err
}

// write stores the letter of a job. It may block. One that is written again, because the server
// has not learned of its job's end, is stored once within the stream's window for duplicates.
func (j *jobs) write(ctx context.Context, m jetstream.Msg, failure error) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	h := ownHeader(m.Headers())
	set := func(key, value string) {
		if value != "" {
			h[key] = []string{value}
		}
	}
	set(DeadReason, oneLine(report.Text("%v", failure)))
	set(DeadStack, oneLine(panicPlace(failure)))
	set(DeadSubject, m.Subject())
	set(DeadID, m.Headers().Get(jetstream.MsgIDHeader))
	set(DeadStream, meta.Stream)
	set(DeadConsumer, meta.Consumer)
	set(DeadSequence, fmt.Sprint(meta.Sequence.Stream))
	set(DeadDeliveries, fmt.Sprint(meta.NumDelivered))
	set(DeadStored, meta.Timestamp.UTC().Format(time.RFC3339Nano))
	set(DeadTime, time.Now().UTC().Format(time.RFC3339Nano))
	set(jetstream.MsgIDHeader, fmt.Sprintf("dead %s %s %d %d", meta.Stream, meta.Consumer, meta.Sequence.Stream, meta.Timestamp.UnixNano()))
	_, err = j.letters.PublishMsg(ctx, &natsgo.Msg{Subject: j.DeadLetters, Data: m.Data(), Header: h})
	return err
}

// says reports whether err wraps target. A method of err that panics says no.
func says(err, target error) (yes bool) {
	defer func() { _ = recover() }()
	return errors.Is(err, target)
}

// panicPlace returns where a job has panicked, or "".
func panicPlace(err error) string {
	p, ok := asPanic(err)
	if !ok {
		return ""
	}
	_, place, _ := strings.Cut(report.Text("%+v", p), "\n\tin ")
	place, _, _ = strings.Cut(place, "\n")
	return place
}

func asPanic(err error) (p *rondo.PanicError, ok bool) {
	defer func() { _ = recover() }() // of a method of err
	return errors.AsType[*rondo.PanicError](err)
}

// oneLine returns what of a text fits into a header.
func oneLine(text string) string {
	text = strings.TrimSpace(strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(text))
	if len(text) > reasonMax {
		text = text[:reasonMax]
	}
	return strings.ToValidUTF8(text, "")
}
