package main

import (
	"cmp"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curve is a plot of workloads that differ in one number of their name only: Workers/workers=1, Workers/workers=10.
type curve struct {
	File, Title   string
	across, up    string
	subject, name string // workqueue, Workers/workers=
	units         []string
	invert        bool // the unit is a time, and the curve shows how many in a second
}

var curves = []curve{
	{File: "throughput", Title: "Throughput over workers", across: "workers", up: "items per second",
		subject: "workqueue", name: "Workers/workers=", units: []string{"sec/op"}, invert: true},
	{File: "latency", Title: "Latency over load", across: "requests per second", up: "seconds from event to reconcile",
		subject: "manager", name: "Load/rate=", units: []string{"p50-sec", "p99-sec"}},
	{File: "heap", Title: "Heap over cached objects", across: "pods in the cache", up: "bytes",
		subject: "manager", name: "CacheSync/objects=", units: []string{"heap-B"}},
	{File: "start", Title: "Start of a manager over objects", across: "objects", up: "seconds to the first reconcile of each controller",
		subject: "start", name: "Start/objects=", units: []string{"sec/op"}},
	{File: "stall", Title: "A reader during a relist, over objects", across: "objects", up: "seconds that a reader is blocked",
		subject: "informer", name: "StoreStall/objects=", units: []string{"blocked-sec"}},
}

// line is one side of a curve in one unit.
type line struct {
	variant, unit string
	points        []point
}

// point is a median with its interval.
type point struct{ x, y, low, high float64 }

// lines are those of a curve, ours first.
func (c curve) lines(rows []row) (lines []line) {
	add := func(variant, unit string, p point) {
		i := slices.IndexFunc(lines, func(l line) bool { return l.variant == variant && l.unit == unit })
		if i < 0 {
			lines = append(lines, line{variant: variant, unit: unit})
			i = len(lines) - 1
		}
		if !slices.ContainsFunc(lines[i].points, func(there point) bool { return there.x == p.x }) {
			lines[i].points = append(lines[i].points, p)
		}
	}
	for _, r := range rows {
		text, is := strings.CutPrefix(r.Workload, c.name)
		x, err := strconv.ParseFloat(text, 64)
		if !is || err != nil || r.Subject != c.subject || !slices.Contains(c.units, r.Unit) {
			continue
		}
		add(r.Ours, r.Unit, c.point(x, r.OursIs.Center, r.OursIs.Lo, r.OursIs.Hi))
		add(r.Original, r.Unit, c.point(x, r.OriginalIs.Center, r.OriginalIs.Lo, r.OriginalIs.Hi))
	}
	for _, l := range lines {
		slices.SortFunc(l.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(place(a.variant), place(b.variant)), cmp.Compare(a.variant, b.variant), cmp.Compare(a.unit, b.unit))
	})
	return lines
}

func place(variant string) int {
	if isOurs(variant) {
		return 0
	}
	return 1
}

func (c curve) point(x, y, low, high float64) point {
	if c.invert {
		return point{x, 1 / y, 1 / high, 1 / low}
	}
	return point{x, y, low, high}
}

// plotAll writes the curves for which there are points, and returns them.
func plotAll(dir string, rows []row) (drawn []curve, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, c := range curves {
		lines := c.lines(rows)
		if len(lines) == 0 {
			continue
		}
		if n := len(lines[0].points); n < 4 {
			return nil, fmt.Errorf("the curve %q has %d sizes: measure at least 4 (%s %s...)", c.Title, n, c.subject, c.name)
		}
		if err := c.draw(filepath.Join(dir, c.File+".svg"), lines); err != nil {
			return nil, fmt.Errorf("drawing %s: %w", c.File, err)
		}
		drawn = append(drawn, c)
	}
	return drawn, nil
}

// colours can be told apart by people who do not see all of them (Okabe and Ito), on white and on black.
var colours = []color.Color{color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255}}

func (c curve) draw(file string, lines []line) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.across, c.up
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = sizes(lines), powers{}
	p.Legend.Top, p.Legend.Left = true, true
	p.BackgroundColor = color.White
	p.Add(plotter.NewGrid())
	var variants []string
	for _, l := range lines {
		if !slices.Contains(variants, l.variant) {
			variants = append(variants, l.variant)
		}
		if err := l.addTo(p, colours[slices.Index(variants, l.variant)%len(colours)], slices.Index(c.units, l.unit), len(c.units) > 1); err != nil {
			return err
		}
	}
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, file)
}

// addTo draws the medians as points on a line, with a bar from the lowest to the highest end of the interval.
func (l line) addTo(p *plot.Plot, colour color.Color, dash int, named bool) error {
	points := struct {
		plotter.XYs
		plotter.YErrors
	}{}
	for _, at := range l.points {
		if at.y <= 0 { // nothing has no place on a logarithmic axis
			continue
		}
		points.XYs = append(points.XYs, plotter.XY{X: at.x, Y: at.y})
		points.YErrors = append(points.YErrors, struct{ Low, High float64 }{at.y - max(at.low, at.y/1000), at.high - at.y})
	}
	if len(points.XYs) == 0 {
		return nil
	}
	through, marks, err := plotter.NewLinePoints(points.XYs)
	if err != nil {
		return err
	}
	bars, err := plotter.NewYErrorBars(points)
	if err != nil {
		return err
	}
	through.Color, marks.Color, bars.Color = colour, colour, colour
	through.Width = vg.Points(1.5)
	marks.Shape = draw.CircleGlyph{}
	if dash > 0 {
		through.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	p.Add(through, marks, bars)
	name := l.variant
	if named {
		name += ", " + strings.TrimSuffix(l.unit, "-sec")
	}
	p.Legend.Add(name, through, marks)
	return nil
}

// sizes puts a tick at each size that was measured.
func sizes(lines []line) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, at := range lines[0].points {
		ticks = append(ticks, plot.Tick{Value: at.x, Label: thousands(int(at.x))})
	}
	return ticks
}

// powers are ticks at 1, 2 and 5 times each power of ten, with their unit's prefix.
type powers struct{}

func (powers) Ticks(low, high float64) (ticks []plot.Tick) {
	for power := 1e-12; power < high; power *= 10 {
		for _, times := range []float64{1, 2, 5} {
			if value := power * times; value >= low*0.999 && value <= high*1.001 {
				ticks = append(ticks, plot.Tick{Value: value, Label: strings.TrimRight(short(value), " ")})
			}
		}
	}
	return ticks
}

func short(value float64) string {
	for _, prefix := range []struct {
		factor float64
		name   string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}} {
		if value >= prefix.factor*0.999 {
			return strconv.FormatFloat(value/prefix.factor, 'g', 3, 64) + prefix.name
		}
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}

// thousands writes 150000 as 150,000.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
