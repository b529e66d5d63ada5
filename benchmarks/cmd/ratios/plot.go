package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/internal/plots"
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
type point = plots.Point

// lines are those of a curve, ours first.
func (c curve) lines(rows []row) (lines []line) {
	add := func(variant, unit string, p point) {
		i := slices.IndexFunc(lines, func(l line) bool { return l.variant == variant && l.unit == unit })
		if i < 0 {
			lines = append(lines, line{variant: variant, unit: unit})
			i = len(lines) - 1
		}
		if !slices.ContainsFunc(lines[i].points, func(there point) bool { return there.X == p.X }) {
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
		slices.SortFunc(l.points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
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
		return point{X: x, Y: 1 / y, Low: 1 / high, High: 1 / low}
	}
	return point{X: x, Y: max(y, c.least), Low: max(low, c.least), High: max(high, c.least)}
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

// draw gives each side a colour, and each unit of it another kind of line.
func (c curve) draw(file string, lines []line) error {
	p := plots.Plot{Title: c.Title + ": " + c.up, Across: c.across}
	var variants []string
	for _, l := range lines {
		if !slices.Contains(variants, l.variant) {
			variants = append(variants, l.variant)
		}
		drawn := plots.Line{Name: l.variant, Points: l.points,
			Colour: slices.Index(variants, l.variant), Dashed: slices.Index(c.units, l.unit) > 0}
		if len(c.units) > 1 {
			drawn.Name += ", " + strings.TrimSuffix(l.unit, "-sec")
		}
		p.Lines = append(p.Lines, drawn)
	}
	return p.Save(file)
}
