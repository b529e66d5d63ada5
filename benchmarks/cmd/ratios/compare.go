package main

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// row compares ours with an original in one unit.
type row struct {
	Subject, Workload, File string
	Ours, Original          string // the variants
	Unit                    string
	// The medians, and the intervals in which they are with 95 %.
	OursIs, OriginalIs benchmath.Summary
	Mini               float64 // the median of the course's part; 0 if it does not play
	Rounds             int
	outcome
	Verdict verdict
	Before  *outcome // what the run before found, if it had the row
}

// outcome is ours / the original's: the median of the rounds, and where that is with 95 %.
type outcome struct{ Ratio, Low, High float64 }

func (r row) name() string { return r.Subject + " " + r.Workload }

func (r row) key() [5]string { return [5]string{r.Subject, r.Workload, r.Ours, r.Original, r.Unit} }

// like reports whether the row compares two things of one kind. client-go's queue is plain and controller-runtime's
// has priorities; neither has a fair one.
func (r row) like() bool {
	if r.Subject != "workqueue" {
		return true
	}
	return r.Ours == "ours" && r.Original == clientGo || r.Ours == withPriorities && r.Original == controllerRuntime
}

// verdict is what a row says.
type verdict int

// mini is the course's part, where a workload has one. It is not compared with the originals: it shows
// what the library's additions cost.
const mini = "mini"

const (
	worse verdict = iota
	same
	better
)

const (
	confidence = 0.95
	// tooClose is a difference that nobody notices, even if it is no accident.
	tooClose = 0.01
	// tooWide is an interval, its end divided by its beginning, that says nothing.
	tooWide = 2
	// tooFar is how far the ratios of two runs that agree may be apart.
	tooFar = 1.25
	// plain is a ratio so small that its size does not matter.
	plain = 0.1
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
					if values := all[measure{w.subject, w.name, mini, unit}]; len(values) > 0 {
						r.Mini = summary(values).Center
					}
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

// judge takes the ratio of each round, in which both sides had the same machine a second apart. The
// interval comes from the order of these ratios, without assuming how they are spread.
func (r *row) judge(ours, original []float64) {
	r.OursIs, r.OriginalIs = summary(ours), summary(original)
	ratios := make([]float64, r.Rounds)
	for i := range ratios {
		ratios[i] = times(ours[i], original[i])
	}
	ratio := summary(ratios)
	r.outcome = outcome{ratio.Center, ratio.Lo, ratio.Hi}
	switch {
	case r.Low > 1+tooClose:
		r.Verdict = worse
	case r.High < 1-tooClose:
		r.Verdict = better
	default:
		r.Verdict = same
	}
}

func summary(values []float64) benchmath.Summary {
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(sample, confidence)
}

// Steady reports whether two whole runs agree, so that the ratio can be relied on.
func (r row) Steady() bool {
	if r.Before == nil {
		return false
	}
	now, before := r.outcome, *r.Before
	if now == before || max(now.High, before.High) < plain {
		return true
	}
	return now.High <= tooWide*now.Low &&
		max(now.Ratio, before.Ratio) <= tooFar*min(now.Ratio, before.Ratio)
}

// times is how many times as much a is: nothing is as much as nothing.
func times(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}
