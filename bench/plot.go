package main

// The plots are drawn from the record alone, so a
// plot can be changed without a new run.

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// drawPlots writes the plots to docs/img, and prints their names.
func drawPlots(d *record, root string, out io.Writer) error {
	dir := filepath.Join(root, "docs", "img")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, p := range []struct {
		file string
		make func(d *record) chart
	}{
		{"echo.svg", echoChart}, {"memory.svg", memoryChart}, {"tasks.svg", tasksChart}, {"latency.svg", latencyChart},
	} {
		c := p.make(d)
		if len(c.lines) == 0 {
			return fmt.Errorf("bench/results.json has no rows for %s: go run ./bench -write -run 'echo|idle|one-|open' measures them", p.file)
		}
		path := filepath.Join(dir, p.file)
		if err := c.draw(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintln(out, path)
	}
	panels := d.panels()
	if len(panels) == 0 {
		return errors.New("bench/results.json has no rows for growth.svg: go run ./bench -write -run growth measures them")
	}
	path := filepath.Join(dir, "growth.svg")
	if err := drawGrowth(panels, path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintln(out, path)
	return nil
}

// column collects the values of a row for a chart: what each of Rondo's parts and
// each rival costs. Only results whose What begins with what count.
func (d *record) column(row, what string) map[string]float64 {
	values := make(map[string]float64)
	m := d.row(row)
	if m == nil {
		return values
	}
	for _, f := range m.Results {
		if strings.HasPrefix(f.What, what) {
			values[f.part()] = f.Own
			values[f.Rival] = f.Theirs
		}
	}
	return values
}

// part is the name of Rondo's side in a chart.
func (f *result) part() string {
	if f.Mine == "" {
		return "Rondo"
	}
	return "Rondo, " + f.Mine
}

// compare makes a chart with a line for each part of Rondo and each rival, the
// cheapest first, by the column called by.
func compare(c chart, columns []map[string]float64, by int) chart {
	var names []string
	for _, column := range columns {
		for name := range column {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		l := chartLine{name: name, ours: strings.HasPrefix(name, "Rondo")}
		for _, column := range columns {
			l.values = append(l.values, valueOr(column, name))
		}
		c.lines = append(c.lines, l)
	}
	slices.SortFunc(c.lines, func(a, b chartLine) int {
		x, y := a.values[by], b.values[by]
		switch {
		case x < y || math.IsNaN(y) && !math.IsNaN(x):
			return -1
		case x > y || math.IsNaN(x) && !math.IsNaN(y):
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return c
}

func valueOr(column map[string]float64, name string) float64 {
	if v, found := column[name]; found {
		return v
	}
	return math.NaN()
}

func echoChart(d *record) chart {
	return compare(chart{
		title: "Echo server: CPU time of a request of 64 bytes", axis: "server's CPU time, program and kernel; log scale, less is better", unit: "ns",
		series: []string{"50 connections", "1,000 connections", "10,000 connections"},
	}, []map[string]float64{d.column("echo-50", ""), d.column("echo-1000", ""), d.column("echo-10000", "")}, 1)
}

func memoryChart(d *record) chart {
	return compare(chart{
		title: "Memory of an idle connection", axis: "resident memory of the server for each connection; log scale, less is better", unit: "B",
		series: []string{"10,000 connections"},
	}, []map[string]float64{d.column("idle", "")}, 0)
}

func latencyChart(d *record) chart {
	var columns []map[string]float64
	for _, name := range percentiles {
		columns = append(columns, d.column("open", name+" of"))
	}
	return compare(chart{
		title: "Latency at 25,000 requests a second on 100 connections", axis: "from the time a request is due to its answer; log scale, less is better", unit: "ns",
		series: percentiles,
	}, columns, 1)
}

// tasksChart has a line for each row on one CPU. Where an operation is a batch, the
// value is that of one task.
func tasksChart(d *record) chart {
	c := chart{
		title: "What tasks cost, on one CPU", axis: "time of one operation, or of one task of a batch; log scale, less is better", unit: "ns",
		series: []string{"Rondo", tokioThread, goroutines},
	}
	for _, m := range d.Rows {
		if m.Section != oneCPU || m.Name == "million" || len(m.Results) == 0 {
			continue
		}
		values := d.column(m.Name, "")
		each := 1.0
		if strings.HasPrefix(m.Results[0].What, "100,000") {
			each = 100_000
		}
		l := chartLine{name: m.Results[0].What}
		for _, name := range c.series {
			l.values = append(l.values, valueOr(values, name)/each)
		}
		c.lines = append(c.lines, l)
	}
	return c
}
