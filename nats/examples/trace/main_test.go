package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/nats"
	"github.com/rondo-go/rondo/nats/oteltask"
	"github.com/rondo-go/rondo/slogtask"
)

// TestTrace: a request, a call between shards, a call by NATS and a job are one trace, in which
// each is the child of what has caused it; the line that the job logs has its ids; and the picture
// in the documents shows this trace.
func TestTrace(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slogtask.NewHandler(slog.NewTextHandler(&log, nil), nats.LogAttrs, oteltask.LogAttrs)))
	defer slog.SetDefault(before)
	spans, err := order(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	const want = `
HTTP POST
  POST /orders
    shard.Call shard-1
    call price
      serve price
    enqueue job.mail
      work job.mail
        publish mailed
`
	got := "\n"
	drawn, err := os.ReadFile("../../../docs/img/trace.svg")
	if err != nil {
		t.Error(err)
	}
	lines := tree(spans)
	for _, l := range lines {
		got += strings.Repeat("  ", l.depth) + l.Name + "\n"
		if id := l.SpanContext.TraceID(); id != lines[0].SpanContext.TraceID() {
			t.Errorf("%s is in the trace %s", l.Name, id)
		}
		for name, text := range map[string]string{"that of this run": picture(spans), "docs/img/trace.svg": string(drawn)} {
			if !strings.Contains(text, ">"+l.Name+"<") {
				t.Errorf("the picture, %s, lacks %s", name, l.Name)
			}
		}
		if l.Name == "work job.mail" {
			line := `msg=mailed to=ann@example.com loop=shard-0 task=job.mail`
			ids := `job="MAILS 1" delivery=1 trace_id=` + l.SpanContext.TraceID().String() + " span_id=" + l.SpanContext.SpanID().String()
			if text := log.String(); !strings.Contains(text, line) || !strings.Contains(text, ids) {
				t.Errorf("the log lacks %s or %s:\n%s", line, ids, text)
			}
		}
	}
	if got != want {
		t.Errorf("got%swant%s", got, want)
	}
}
