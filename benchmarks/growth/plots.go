package growth

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/loopwright/loopwright/benchmarks/internal/plots"
)

// Plot is a picture of the section: a figure over the number of objects.
type Plot struct {
	File, Title string
	workload
	figure, limit string
	forEach       bool // divided by the number of objects, so that what grows in step with it is level
}

func allPlots() (all []Plot) {
	for _, f := range formNames {
		all = append(all,
			Plot{"growth-start-" + f.name, "Seconds from the start to the first reconcile, for each object: " + f.text,
				workload{"stream", f.name, programs}, "first-sec", "all-sec", true},
			Plot{"growth-peak-" + f.name, "Bytes of peak memory, for each object: " + f.text,
				workload{"stream", f.name, programs}, "peak-rss-B", "object-B", true})
	}
	return append(all,
		Plot{"growth-away", "Seconds to catch up after an hour away, for each object: " + formNames[1].text,
			workload{"stream", "typed", programs}, "catch-up-sec", "all-sec", true},
		Plot{"growth-read", "Seconds of the longest read while catching up: " + formNames[1].text,
			workload{"stream", "typed", programs}, "longest-read-sec", "", false},
		Plot{"growth-fire", "Seconds until all items that come due at one moment are taken, for each item",
			workload{"queue", "delayed", queues}, "fire-sec", "", true})
}

// lines are the four sides, and the limit.
func (t Table) lines(p Plot) (lines []plots.Line) {
	sides := p.sides[:]
	if p.limit != "" {
		sides = append(sides, Limit)
	}
	for i, side := range sides {
		figure, name := p.figure, side
		if side == Limit {
			figure, name = p.limit, "the limit"
		}
		line := plots.Line{Name: name, Colour: i, Dashed: side == Limit}
		for _, size := range t.sizes() {
			if at, found := t.point(p, size, side, figure); found {
				line.Points = append(line.Points, at)
			}
		}
		if len(line.Points) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// point is the mean of the runs, with a bar from the one to the other.
func (t Table) point(p Plot, size int, side, figure string) (at plots.Point, found bool) {
	by := 1.0
	if p.forEach && figure != "object-B" {
		by = float64(size)
	}
	var values []float64
	for _, run := range runs {
		if value, found := t.Value(Case{run, p.server, p.form, size, side}, figure); found {
			values = append(values, value/by)
		}
	}
	if len(values) == 0 {
		return at, false
	}
	low, high := values[0], values[len(values)-1]
	return plots.Point{X: float64(size), Y: (low + high) / 2, Low: min(low, high), High: max(low, high)}, true
}

// drawable are the plots for which there are curves.
func (t Table) drawable() (all []Plot) {
	for _, p := range allPlots() {
		if len(t.lines(p)) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// Draw writes the plots.
func (t Table) Draw(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range t.drawable() {
		across := "objects"
		if p.server == "queue" {
			across = "items"
		}
		drawn := plots.Plot{Title: p.Title, Across: across, Lines: t.lines(p)}
		if err := drawn.Save(filepath.Join(dir, p.File+".svg")); err != nil {
			return fmt.Errorf("drawing %s: %w", p.File, err)
		}
	}
	return nil
}
