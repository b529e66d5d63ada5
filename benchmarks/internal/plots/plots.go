// Package plots draws curves on two logarithmic axes, for the pages that have them.
package plots

import (
	"fmt"
	"image/color"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Plot is a picture of some curves. Its title says what goes up.
type Plot struct {
	Title, Across string
	Lines         []Line
}

// Line is one curve.
type Line struct {
	Name   string
	Colour int // a number from 0 to 5
	Dashed bool
	Points []Point
}

// Point is a value, and a bar from low to high.
type Point struct{ X, Y, Low, High float64 }

// colours can be told apart by people who do not see all of them (Okabe and Ito), on white and on black.
var colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{86, 180, 233, 255},
}

// Save writes the picture as SVG.
func (p Plot) Save(file string) error {
	picture := plot.New()
	picture.X.Label.Text = p.Across
	picture.X.Scale, picture.Y.Scale = plot.LogScale{}, plot.LogScale{}
	picture.X.Tick.Marker, picture.Y.Tick.Marker = sizes(p.Lines), powers{}
	picture.BackgroundColor = color.White
	picture.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.XOffs, legend.Padding = true, true, vg.Centimeter, vg.Points(2)
	for _, l := range p.Lines {
		if l.Colour >= len(colours) {
			return fmt.Errorf("%d sides are more than there are colours", l.Colour+1)
		}
		if err := l.addTo(picture, &legend); err != nil {
			return err
		}
	}
	return save(file, p.Title, picture, &legend)
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
func (l Line) addTo(p *plot.Plot, legend *plot.Legend) error {
	points := struct {
		plotter.XYs
		plotter.YErrors
	}{}
	for _, at := range l.Points {
		if at.Y <= 0 { // nothing has no place on a logarithmic axis
			continue
		}
		points.XYs = append(points.XYs, plotter.XY{X: at.X, Y: at.Y})
		points.YErrors = append(points.YErrors, struct{ Low, High float64 }{at.Y - max(at.Low, at.Y/1000), at.High - at.Y})
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
	colour := colours[l.Colour]
	through.Color, marks.Color, bars.Color = colour, colour, colour
	through.Width = vg.Points(1.5)
	marks.Shape = draw.CircleGlyph{}
	if l.Dashed {
		through.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	p.Add(through, marks, bars)
	legend.Add(l.Name, through, marks)
	return nil
}

// sizes puts a tick at each size that was measured.
func sizes(lines []Line) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, l := range lines {
		for _, at := range l.Points {
			tick := plot.Tick{Value: at.X, Label: Thousands(int(at.X))}
			if !slices.Contains(ticks, tick) {
				ticks = append(ticks, tick)
			}
		}
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

// Thousands writes 150000 as 150,000.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
