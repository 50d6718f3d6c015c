package main

// The chart of growth: a panel for each operation, a line for Rondo and for each rival, from 10
// tasks to 1,000,000. A cost that does not grow with the number of tasks is a level line.

import (
	"bytes"
	"math"
	"os"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A panel is the growth of one operation: a line of points for each series.
type panel struct {
	title string
	lines []plotter.XYs // in the order of growthSeries
}

var growthSeries = []string{"Rondo", goroutines, tokioThread}

// panels returns the growth of each operation that the record has.
func (d *record) panels() (all []panel) {
	for _, m := range d.Rows {
		if m.Section != growth || len(m.Results) == 0 {
			continue
		}
		what, _, _ := strings.Cut(m.Results[0].What, ":")
		p := panel{title: what, lines: make([]plotter.XYs, len(growthSeries))}
		for _, f := range m.Results {
			for i, name := range growthSeries {
				switch {
				case name == f.Rival:
					p.lines[i] = append(p.lines[i], plotter.XY{X: float64(f.Tasks), Y: f.Theirs})
				case i == 0 && f.Rival == goroutines:
					p.lines[0] = append(p.lines[0], plotter.XY{X: float64(f.Tasks), Y: f.Own})
				}
			}
		}
		all = append(all, p)
	}
	return all
}

// drawGrowth writes the chart as an SVG file, with two panels in a line.
func drawGrowth(panels []panel, path string) error {
	const columns, wide, high, above, below = 2, 760, 250, 76, 26
	rows := (len(panels) + columns - 1) / columns
	height := vg.Length(above + below + rows*high)
	canvas := &sized{Canvas: vgsvg.New(wide, height)}
	area := draw.New(canvas)
	c := chart{title: "What an operation costs beside ever more tasks, on one CPU", series: growthSeries}
	frame := plot.New()
	c.style(frame)
	middle := frame.Title.TextStyle
	middle.XAlign = text.XCenter
	area.FillText(middle, vg.Point{X: wide / 2, Y: height - 12}, c.title)
	c.legend(frame, area)
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadTop: above, PadBottom: below, PadLeft: 6, PadRight: 16, PadX: 24, PadY: 14}
	low, high10 := panelBounds(panels)
	for i, one := range panels {
		p, err := one.plot(c, low, high10)
		if err != nil {
			return err
		}
		p.Draw(tiles.At(area, i%columns, i/columns))
	}
	axis := frame.X.Label.TextStyle
	axis.XAlign = text.XCenter
	area.FillText(axis, vg.Point{X: wide / 2, Y: 12}, "number of tasks; time for one of them; both log scale, less is better")
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(canvas.fit(svg.String())), 0o644)
}

// panelBounds returns the ends of the scale of time, which all panels share.
func panelBounds(panels []panel) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, one := range panels {
		for _, line := range one.lines {
			for _, point := range line {
				low, high = min(low, point.Y), max(high, point.Y)
			}
		}
	}
	return low / 1.3, high * 1.3
}

// plot returns the panel with its axes.
func (one panel) plot(c chart, low, high float64) (*plot.Plot, error) {
	p := plot.New()
	c.style(p)
	p.Title.Text, p.Title.Padding = one.title, 8
	p.Title.TextStyle.Font.Size = 12
	p.X.Scale, p.X.Tick.Marker, p.X.Min, p.X.Max = plot.LogScale{}, tensOfTasks{}, 10, 10
	p.Y.Scale, p.Y.Tick.Marker, p.Y.Min, p.Y.Max = plot.LogScale{}, logTicks{"ns"}, low, high
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	p.Add(grid)
	for i, points := range one.lines {
		if len(points) == 0 {
			continue
		}
		p.X.Max = max(p.X.Max, points[len(points)-1].X)
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, dots.GlyphStyle = palette[i], 2, c.glyph(i)
		dots.Radius = 3.5
		p.Add(line, dots)
	}
	return p, nil
}

// tensOfTasks are ticks at each power of ten.
type tensOfTasks struct{}

// Ticks returns the ticks between low and high, as a plot.Ticker.
func (tensOfTasks) Ticks(low, high float64) (ticks []plot.Tick) {
	for n := 1; float64(n) <= high; n *= 10 {
		if float64(n) >= low {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: thousands(n)})
		}
	}
	return ticks
}
