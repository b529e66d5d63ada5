package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/loopwright/loopwright/benchmarks/controllers/mask"
	"github.com/loopwright/loopwright/benchmarks/controllers/scenarios"
	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// Worlds are the two sides of a comparison. Both may be the same world: then the originals are compared with themselves,
// which shows whether the comparison is fair.
type Worlds struct {
	Theirs, Ours *stage.World
	NoEvents     bool // ours write no Events
}

// Found is a difference, and where it was first seen.
type Found struct {
	mask.Difference
	Step string
}

// Report is the outcome of one scenario.
type Report struct {
	Scenario  scenarios.Scenario
	Err       error   // it could not be played to its end
	Found     []Found // by step, then by path; a field that goes on to differ is in it once
	Theirs    stage.Judgement
	Ours      stage.Judgement
	Explained map[int]int // how many differences each explanation has explained
}

// Compare plays a scenario on both sides at once.
func (w Worlds) Compare(ctx context.Context, scenario scenarios.Scenario, namespace string) Report {
	report := Report{Scenario: scenario, Explained: map[int]int{}}
	var theirs, ours Result
	var failedThere, failedHere error
	var both sync.WaitGroup
	events := !scenario.Loose && !w.NoEvents
	both.Go(func() { theirs, failedThere = Play(ctx, w.Theirs, scenario, namespace+"-a", events) })
	both.Go(func() { ours, failedHere = Play(ctx, w.Ours, scenario, namespace+"-b", events) })
	both.Wait()
	report.Err = errors.Join(failedThere, failedHere)
	report.Theirs, report.Ours = theirs.Judgement, ours.Judgement
	seen := map[mask.Difference]bool{}
	for i := range min(len(theirs.After), len(ours.After)) {
		for _, difference := range mask.Compare(theirs.After[i].State, ours.After[i].State) {
			if !seen[difference] {
				seen[difference] = true
				report.Found = append(report.Found, Found{Difference: difference, Step: theirs.After[i].Step})
			}
		}
	}
	if report.Err == nil && !scenario.Loose {
		report.Found = append(report.Found, compareCounts(theirs.Judgement, ours.Judgement)...)
	}
	return report
}

// compareCounts compares how many objects were created and deleted in all.
func compareCounts(theirs, ours stage.Judgement) (found []Found) {
	both := maps.Clone(theirs.Counts)
	maps.Copy(both, ours.Counts)
	for _, what := range slices.Sorted(maps.Keys(both)) {
		if theirs.Counts[what] != ours.Counts[what] {
			found = append(found, Found{Step: "in all", Difference: mask.Difference{
				Path: "Count/." + what, Theirs: fmt.Sprint(theirs.Counts[what], " ", theirs.History[what]), Ours: fmt.Sprint(ours.Counts[what], " ", ours.History[what]),
			}})
		}
	}
	return found
}

// Failed reports whether something is wrong that nothing explains.
func (r Report) Failed() bool { return r.Err != nil || len(r.Found) > 0 || len(r.Ours.Broken) > 0 }

// All compares many scenarios, several at a time, and hands out each report as soon as it is there.
func (w Worlds) All(ctx context.Context, list []scenarios.Scenario, atOnce int, done func(Report)) {
	each(ctx, list, atOnce, func(scenario scenarios.Scenario, namespace string) Report { return w.Compare(ctx, scenario, namespace) }, done)
}

func each(ctx context.Context, list []scenarios.Scenario, atOnce int, play func(scenarios.Scenario, string) Report, done func(Report)) {
	numbers := make(chan int)
	var workers sync.WaitGroup
	var mu sync.Mutex // guards done
	for range atOnce {
		workers.Go(func() {
			for i := range numbers {
				report := play(list[i], fmt.Sprintf("s%d", i+1))
				mu.Lock()
				done(report)
				mu.Unlock()
			}
		})
	}
	for i := range list {
		if ctx.Err() != nil {
			break
		}
		numbers <- i
	}
	close(numbers)
	workers.Wait()
}
