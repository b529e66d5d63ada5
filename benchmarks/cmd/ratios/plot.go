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
	"gonum.org/v1/plot/vg/vgsvg"
)

// curve is a plot of workloads that differ in one number of their name only: Workers/workers=1, Workers/workers=10.
type curve struct {
	File, Title   string
	across, up    string
	subject, name string // workqueue, Workers/workers=
	units         []string
	invert        bool    // the unit is a time, and the curve shows how many in a second
	least         float64 // what is less is drawn there: nothing at all has no place on a logarithmic axis
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
	{File: "stall", Title: "A reader during a relist, over objects", across: "objects", up: "seconds that a reader is blocked (1 µ: or less)",
		subject: "informer", name: "StoreStall/objects=", units: []string{"blocked-sec"}, least: 1e-6},
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
		x, err := strconv.ParseFloat(strings.TrimPrefix(r.Workload, c.name), 64)
		if !c.has(r) || err != nil {
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

// has reports whether a row is one of the curve's.
func (c curve) has(r row) bool {
	return r.Subject == c.subject && strings.HasPrefix(r.Workload, c.name) && slices.Contains(c.units, r.Unit)
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
	return point{x, max(y, c.least), max(low, c.least), max(high, c.least)}
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
var colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{86, 180, 233, 255},
}

func (c curve) draw(file string, lines []line) error {
	p := plot.New()
	p.X.Label.Text = c.across
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = sizes(lines), powers{}
	p.BackgroundColor = color.White
	p.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.XOffs, legend.Padding = true, true, vg.Centimeter, vg.Points(2)
	var variants []string
	for _, l := range lines {
		if !slices.Contains(variants, l.variant) {
			variants = append(variants, l.variant)
		}
		if len(variants) > len(colours) {
			return fmt.Errorf("%d sides are more than there are colours", len(variants))
		}
		if err := l.addTo(p, &legend, colours[slices.Index(variants, l.variant)], slices.Index(c.units, l.unit), len(c.units) > 1); err != nil {
			return err
		}
	}
	return save(file, c.Title+": "+c.up, p, &legend)
}

// save puts the title and the legend above the plot, where they hide no curve. The title says what goes up, because a label of
// a logarithmic axis takes room away from the curves.
func save(file, title string, p *plot.Plot, legend *plot.Legend) error {
	picture := vgsvg.New(16*vg.Centimeter, 11*vg.Centimeter)
	whole := draw.New(picture)
	whole.FillPolygon(color.White, []vg.Point{whole.Min, {X: whole.Max.X, Y: whole.Min.Y}, whole.Max, {X: whole.Min.X, Y: whole.Max.Y}})
	style := p.Title.TextStyle
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	whole.FillText(style, vg.Point{X: vg.Centimeter, Y: whole.Max.Y - vg.Points(6)}, title)
	below := draw.Crop(whole, 0, 0, 0, -style.Height(title)-vg.Points(10))
	legend.Draw(below)
	p.Draw(draw.Crop(below, vg.Points(4), -vg.Points(14), vg.Points(2), -legend.Rectangle(below).Size().Y-vg.Points(6)))
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := picture.WriteTo(to); err != nil {
		_ = to.Close()
		return err
	}
	return to.Close()
}

// addTo draws the medians as points on a line, with a bar from the lowest to the highest end of the interval.
func (l line) addTo(p *plot.Plot, legend *plot.Legend, colour color.Color, dash int, named bool) error {
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
	legend.Add(name, through, marks)
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

// powers are ticks at 1, 2 and 5 times each power of ten, with their unit's prefix; or at 1, if there are many powers.
type powers struct{}

func (powers) Ticks(low, high float64) (ticks []plot.Tick) {
	steps := []float64{1, 2, 5}
	if high > low*1e4 {
		steps = steps[:1]
	}
	for power := 1e-12; power < high; power *= 10 {
		for _, times := range steps {
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
