package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/loopwright/loopwright/internal/simulation"
)

func (r *row) seeds() []uint64 {
	return slices.Sorted(maps.Keys(r.broken))[:min(enough, len(r.broken))]
}

func (r *row) first() uint64 { return r.seeds()[0] }

// printTable prints a line for each story, and how often each promise was broken.
func printTable(table []row) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "\ncontroller\tdays\tfailed\ttook\tdays a second\tthe first seeds that failed")
	for _, r := range table {
		perSecond := 0.0
		if r.took > 0 {
			perSecond = float64(r.played) / r.took.Seconds()
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%v\t%.1f\t%v\n", r.story, r.played, r.failed(),
			r.took.Round(time.Second), perSecond, r.seeds())
	}
	fmt.Fprint(out, "\nbroken in this many days")
	for _, r := range table {
		fmt.Fprint(out, "\t", r.story)
	}
	fmt.Fprintln(out)
	for _, promise := range simulation.Promises {
		fmt.Fprint(out, promise)
		for _, r := range table {
			fmt.Fprint(out, "\t", r.daysWithout(string(promise)))
		}
		fmt.Fprintln(out)
	}
	_ = out.Flush()
}

// daysWithout counts the days on which a promise was broken.
func (r *row) daysWithout(promise string) (days int) {
	for _, broken := range r.broken {
		if slices.ContainsFunc(broken, func(what string) bool { return promiseOf(what) == promise }) {
			days++
		}
	}
	return days
}
