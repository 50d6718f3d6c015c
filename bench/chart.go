package main

// A chart: a line for each thing compared, and dots on a logarithmic
// scale for what was measured of it. A difference of a tenth and one of ten times can
// be read in the same picture.
//
// The law: the background is transparent, and every colour has enough contrast on
// white and on black, because a page can be either.

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A chart has a line for each name, the first one at the top.
type chart struct {
	title  string
	axis   string // what the scale shows, with the unit
	unit   string // of the values: "ns", "B"
	lines  []chartLine
	series []string // the names of the dots of a line, for the legend
}

// A chartLine has a value for each series; NaN where there is none.
type chartLine struct {
	name   string
	ours   bool // it is Rondo's, and stands out
	values []float64
}

var (
	ink     = color.NRGBA{0x7d, 0x85, 0x90, 0xff}
	faint   = color.NRGBA{0x7d, 0x85, 0x90, 0x50}
	band    = color.NRGBA{0x7d, 0x85, 0x90, 0x30}
	palette = []color.Color{color.NRGBA{0xe8, 0x6f, 0x0c, 0xff}, color.NRGBA{0x2f, 0x81, 0xf7, 0xff}, color.NRGBA{0x2d, 0xa0, 0x55, 0xff}}
	shapes  = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}
)

// draw writes the chart as an SVG file.
func (c chart) draw(path string) error {
	p := plot.New()
	c.style(p)
	c.frame(p)
	if err := c.dots(p); err != nil {
		return err
	}
	const width = 760
	height := vg.Length(106 + 24*len(c.lines))
	canvas := &sized{Canvas: vgsvg.New(width, height)}
	area := draw.New(canvas)
	p.Draw(draw.Crop(area, 6, -10, 26, -6))
	c.legend(p, area)
	// The plot itself would put this where the middle is on a scale that is not
	// logarithmic.
	below := p.X.Label.TextStyle
	below.XAlign = text.XCenter
	area.FillText(below, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: area.Min.Y + 8}, c.axis)
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(canvas.fit(svg.String())), 0o644)
}

// A sized canvas keeps the width of each text, because a browser that has another
// font would draw it wider.
type sized struct {
	*vgsvg.Canvas
	widths []vg.Length
}

// FillString draws s.
func (c *sized) FillString(f font.Face, at vg.Point, s string) {
	c.widths = append(c.widths, f.Width(s))
	c.Canvas.FillString(f, at, s)
}

// fit gives each text of an SVG its width, and more fonts to choose from.
func (c *sized) fit(svg string) string {
	const family = "font-family:Liberation Sans"
	svg = strings.ReplaceAll(svg, family+";", family+",Arial,Helvetica,sans-serif;")
	parts := strings.Split(svg, "<text ")
	for i, w := range c.widths {
		parts[i+1] = fmt.Sprintf("<text textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" %s", w.Points(), parts[i+1])
	}
	return strings.Join(parts, "")
}

// legend draws the names of the series in a line below the title.
func (c chart) legend(p *plot.Plot, area draw.Canvas) {
	if len(c.series) == 1 {
		return
	}
	style := p.Legend.TextStyle
	style.YAlign = text.YCenter
	const dot, gap = 12, 26
	var wide vg.Length
	for _, name := range c.series {
		wide += dot + style.Width(name) + gap
	}
	at := vg.Point{X: area.Min.X + (area.Max.X-area.Min.X-wide+gap)/2, Y: area.Max.Y - 42}
	for k, name := range c.series {
		area.DrawGlyph(c.glyph(k), at)
		area.FillText(style, vg.Point{X: at.X + dot, Y: at.Y + 1}, name)
		at.X += dot + style.Width(name) + gap
	}
}

func (c chart) glyph(series int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: palette[series], Radius: 4.5, Shape: shapes[series]}
}

// style sets the fonts and the colours of everything but the dots.
func (c chart) style(p *plot.Plot) {
	sans := func(size vg.Length) font.Font { return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size} }
	p.BackgroundColor = color.Transparent
	p.Title.Text, p.Title.Padding = c.title, 12
	if len(c.series) > 1 {
		p.Title.Padding = 32 // room for the legend
	}
	p.Title.TextStyle.Font, p.Title.TextStyle.Color = sans(15), ink
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Label.TextStyle.Color = sans(12), ink
		axis.Tick.Label.Font, axis.Tick.Label.Color = sans(12), ink
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = ink, ink
	}
	p.Legend.TextStyle.Font, p.Legend.TextStyle.Color = sans(12), ink
}

// frame sets the two axes, and draws the band behind Rondo's lines and the grid.
func (c chart) frame(p *plot.Plot) {
	names := make([]plot.Tick, len(c.lines))
	low, high := c.bounds()
	for i, l := range c.lines {
		y := float64(len(c.lines) - 1 - i)
		names[i] = plot.Tick{Value: y, Label: l.name}
		if l.ours {
			shade, err := plotter.NewPolygon(plotter.XYs{{X: low, Y: y - 0.42}, {X: high, Y: y - 0.42}, {X: high, Y: y + 0.42}, {X: low, Y: y + 0.42}})
			if err != nil {
				panic(err) // the four points are numbers
			}
			shade.Color, shade.LineStyle.Width = band, 0
			p.Add(shade)
		}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.LineStyle.Width = plot.ConstantTicks(names), 0, 0
	p.Y.Min, p.Y.Max = -0.6, float64(len(c.lines))-0.4
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{c.unit}
	p.X.Min, p.X.Max = low, high
	grid := plotter.NewGrid()
	grid.Horizontal.Width, grid.Vertical.Color = 0, faint
	p.Add(grid)
}

// dots adds the dots, a line between the outer two of each line, and the legend.
func (c chart) dots(p *plot.Plot) error {
	for i, l := range c.lines {
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range l.values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		if low < high {
			y := float64(len(c.lines) - 1 - i)
			between, err := plotter.NewLine(plotter.XYs{{X: low, Y: y}, {X: high, Y: y}})
			if err != nil {
				return err
			}
			between.Color, between.Width = ink, 1
			p.Add(between)
		}
	}
	for k := range c.series {
		var points plotter.XYs
		var values []string
		for i, l := range c.lines {
			if v := l.values[k]; !math.IsNaN(v) {
				points = append(points, plotter.XY{X: v, Y: float64(len(c.lines) - 1 - i)})
				values = append(values, quantity(v, c.unit))
			}
		}
		if points == nil {
			continue
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = c.glyph(k)
		p.Add(dots)
		if len(c.series) > 1 {
			continue
		}
		if err := c.values(p, points, values); err != nil {
			return err
		}
	}
	return nil
}

// values writes the value of each dot to its right.
func (c chart) values(p *plot.Plot, points plotter.XYs, values []string) error {
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: points, Labels: values})
	if err != nil {
		return err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].Font, labels.TextStyle[i].Color = p.X.Tick.Label.Font, ink
		labels.TextStyle[i].YAlign = text.YCenter
	}
	labels.Offset = vg.Point{X: 9, Y: 1}
	p.Add(labels)
	return nil
}

// bounds returns the ends of the scale: a little beyond the values.
func (c chart) bounds() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range c.lines {
		for _, v := range l.values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if len(c.series) == 1 {
		return low / 1.25, high * 1.8 // room for the values
	}
	return low / 1.15, high * 1.15
}

// logTicks are at 1, 2 and 5 of each power of ten. On a long scale only the powers
// have a label.
type logTicks struct{ unit string }

// Ticks returns the ticks between low and high, as a plot.Ticker.
func (t logTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	long := high/low > 60
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			v := digit * power
			if v < low || v > high {
				continue
			}
			tick := plot.Tick{Value: v}
			if !long || digit == 1 {
				tick.Label = rounded(v, t.unit)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// rounded is quantity for a tick, whose digits after the point are all 0.
func rounded(v float64, unit string) string {
	number, name, _ := strings.Cut(quantity(v, unit), " ")
	return strings.TrimRight(strings.TrimRight(number, "0"), ".") + " " + name
}
