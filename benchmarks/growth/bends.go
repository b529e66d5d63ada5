package growth

import (
	"fmt"
	"slices"

	"github.com/loopwright/loopwright/benchmarks/internal/plots"
)

// bend: if an object costs this many times as much as at the size before, or more, the curve bends upwards.
const bend = 1.25

// fewest: with fewer objects, most of the cost is what a program needs without any.
const fewest = 10_000

// bending are the figures that should grow in step with the objects.
var bending = []string{"first-sec", "all-sec", "all-cpu-sec", "peak-rss-B", "object-B", "catch-up-sec", "catch-up-cpu-sec",
	"catch-up-peak-rss-B", "add-sec", "item-B", "fire-sec", "fire-cpu-sec"}

// Bends tells which curves bend upwards in every run that was measured.
func (t Table) Bends() (all []string) {
	sizes := slices.DeleteFunc(t.sizes(), func(size int) bool { return size < fewest })
	var seen []Case
	for _, r := range t.Results {
		c := r.Case
		c.Run, c.Objects = 0, 0
		if slices.Contains(seen, c) {
			continue
		}
		seen = append(seen, c)
		for _, figure := range bending {
			for i := 1; i < len(sizes); i++ {
				if times, bends := t.bends(c, figure, sizes[i-1], sizes[i]); bends {
					all = append(all, fmt.Sprintf("%s, %s, %s: %s is %.2f times as much for each object with %s as with %s", c.Side, c.Form, c.Server,
						figure, times, plots.Thousands(sizes[i]), plots.Thousands(sizes[i-1])))
				}
			}
		}
	}
	return all
}

// bends returns the smaller factor of the two runs.
func (t Table) bends(c Case, figure string, from, to int) (times float64, is bool) {
	for _, run := range runs {
		c.Run = run
		before, after := c, c
		before.Objects, after.Objects = from, to
		small, found := t.Value(before, figure)
		large, foundToo := t.Value(after, figure)
		if !found || !foundToo {
			return 0, false
		}
		factor := large / small
		if figure != "object-B" && figure != "item-B" {
			factor *= float64(from) / float64(to)
		}
		if times == 0 || factor < times {
			times = factor
		}
	}
	return times, times >= bend
}
