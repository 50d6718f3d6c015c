package main

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// w3c is how the trace context travels over HTTP.
var w3c = propagation.TraceContext{}

// A line is a span and how deep it is in its trace.
type line struct {
	tracetest.SpanStub
	depth int
}

// tree returns the spans as a tree in order: each below its parent, in the order of their starts.
func tree(spans tracetest.SpanStubs) (lines []line) {
	children := make(map[trace.SpanID]tracetest.SpanStubs)
	known := make(map[trace.SpanID]bool)
	for _, s := range spans {
		known[s.SpanContext.SpanID()] = true
	}
	for _, s := range spans {
		parent := s.Parent.SpanID()
		if !known[parent] {
			parent = trace.SpanID{}
		}
		children[parent] = append(children[parent], s)
	}
	var add func(parent trace.SpanID, depth int)
	add = func(parent trace.SpanID, depth int) {
		below := children[parent]
		slices.SortStableFunc(below, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
		for _, s := range below {
			lines = append(lines, line{s, depth})
			add(s.SpanContext.SpanID(), depth+1)
		}
	}
	add(trace.SpanID{}, 0)
	return lines
}

// The measures of the picture, in pixels.
const (
	rowHeight = 26
	namesWide = 220
	barsWide  = 560
	margin    = 12
)

// colors are those of the kinds of spans. A call between shards is internal.
var colors = map[trace.SpanKind]string{
	trace.SpanKindInternal: "#7a5195", trace.SpanKindClient: "#4477aa", trace.SpanKindServer: "#228833",
	trace.SpanKindProducer: "#cc8800", trace.SpanKindConsumer: "#bb5544",
}

// picture draws spans as SVG: a row for each, with a bar from its start to its end.
func picture(spans tracetest.SpanStubs) string {
	lines := tree(spans)
	if len(lines) == 0 {
		return ""
	}
	first := slices.MinFunc(lines, func(a, b line) int { return a.StartTime.Compare(b.StartTime) }).StartTime
	last := slices.MaxFunc(lines, func(a, b line) int { return a.EndTime.Compare(b.EndTime) }).EndTime
	perPixel := float64(max(last.Sub(first), 1)) / barsWide
	var b strings.Builder
	width, height := namesWide+barsWide+70+margin, (len(lines)+1)*rowHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height, width, height)
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="#ffffff"/>`)
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#555555">trace %s, %s</text>`+"\n", margin, margin+16, lines[0].SpanContext.TraceID(), round(last.Sub(first)))
	for i, l := range lines {
		y := margin + (i+1)*rowHeight
		x := namesWide + float64(l.StartTime.Sub(first))/perPixel
		w := max(float64(l.EndTime.Sub(l.StartTime))/perPixel, 2)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#111111">%s</text>`, margin+14*l.depth, y+17, html.EscapeString(l.Name))
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="16" rx="2" fill="%s"/>`, x, y+4, w, cmp.Or(colors[l.SpanKind], "#555555"))
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="#555555" font-size="11">%s</text>`+"\n", x+w+4, y+17, round(l.EndTime.Sub(l.StartTime)))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// round returns a time with three digits.
func round(d time.Duration) string {
	for unit := time.Second; unit >= 1000; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
