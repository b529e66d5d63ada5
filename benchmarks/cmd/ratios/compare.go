package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// row compares ours with an original in one unit.
type row struct {
	Subject, Workload, File string
	Ours, Original          string // the variants
	Unit                    string
	OursIs, OriginalIs      benchmath.Summary // the median, and the interval in which it is with 95 %
	Ratio, Low, High        float64           // ours / the original's
	Verdict                 verdict
	Rounds                  int
}

// verdict is what a row says.
type verdict int

const (
	worse verdict = iota
	same
	better
)

const (
	confidence = 0.95
	// tooClose is a difference that nobody notices, even if it is no accident.
	tooClose = 0.01
	// muchMemory is from where on it says something how much a process has: a test's program alone takes 50 MB.
	muchMemory = 100 << 20
)

// leftOut are units that say the same as another one, or nothing alone.
var leftOut = []string{"items/s", "waiting", "B/item"}

// compare makes the rows: those first where we lose, and the worst of them first.
func compare(workloads []workload, all measurements) []row {
	var rows []row
	for _, w := range workloads {
		for _, ours := range keep(played(w), isOurs) {
			for _, original := range keep(played(w), isOriginal) {
				for _, unit := range units(all, w, ours) {
					a, b := all[measure{w.subject, w.name, ours, unit}], all[measure{w.subject, w.name, original, unit}]
					if len(a) == 0 || len(b) == 0 || max(slices.Max(a), slices.Max(b)) == 0 || unit == peakMemory && !tellsMemory(all, w, ours, a, b) {
						continue
					}
					r := row{Subject: w.subject, Workload: w.name, File: w.file, Ours: ours, Original: original, Unit: unit, Rounds: min(len(a), len(b))}
					r.judge(a, b)
					rows = append(rows, r)
				}
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if order := cmp.Compare(a.Verdict, b.Verdict); order != 0 || a.Verdict != worse {
			return order
		}
		return cmp.Compare(b.Ratio, a.Ratio)
	})
	return rows
}

func keep(variants []string, is func(string) bool) []string {
	return slices.DeleteFunc(variants, func(v string) bool { return !is(v) })
}

// tellsMemory reports whether the peak of the whole process says something: a workload that knows better has its own figure.
func tellsMemory(all measurements, w workload, variant string, ours, original []float64) bool {
	return len(all[measure{w.subject, w.name, variant, "peak-B"}]) == 0 && max(slices.Max(ours), slices.Max(original)) >= muchMemory
}

// units are those in which a variant was measured, time first.
func units(all measurements, w workload, variant string) (units []string) {
	for m := range all {
		if m.subject == w.subject && m.name == w.name && m.variant == variant && !slices.Contains(leftOut, m.unit) {
			units = append(units, m.unit)
		}
	}
	order := []string{"sec/op", "cpu-sec/op", "B/op", "allocs/op"}
	place := func(unit string) int {
		if i := slices.Index(order, unit); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(units, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b)) })
	return units
}

// judge compares both sides without assuming how the values are spread: medians, their intervals from the order of the
// values, and the U test of Mann, Whitney and Wilcoxon.
//
// The interval of the ratio has ours at its least against the original at its most, and the other way round. It is
// wider than it had to be.
func (r *row) judge(ours, original []float64) {
	a := benchmath.NewSample(slices.Clone(ours), &benchmath.DefaultThresholds)
	b := benchmath.NewSample(slices.Clone(original), &benchmath.DefaultThresholds)
	r.OursIs, r.OriginalIs = benchmath.AssumeNothing.Summary(a, confidence), benchmath.AssumeNothing.Summary(b, confidence)
	r.Ratio, r.Low, r.High = times(r.OursIs.Center, r.OriginalIs.Center), times(r.OursIs.Lo, r.OriginalIs.Hi), times(r.OursIs.Hi, r.OriginalIs.Lo)
	test := benchmath.AssumeNothing.Compare(a, b)
	switch {
	case test.P >= test.Alpha || math.Abs(r.Ratio-1) < tooClose:
		r.Verdict = same
	case r.Ratio > 1:
		r.Verdict = worse
	default:
		r.Verdict = better
	}
}

// times is how many times as much a is: nothing is as much as nothing.
func times(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}
