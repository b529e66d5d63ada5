//go:build figures

// Package controllers has the figures of part IV: a rollout, the choice of Pods that go, and the form of Endpoints.
// They decide by the pure cores of the controllers.
package controllers

import (
	"strconv"

	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/docs/book/figures/figure"
)

// Figures are those of this part.
var Figures = []figure.Definition{Rollout, Ranking, Packing}

// Rollout is the figure of chapter 24.
var Rollout = figure.Definition{
	Name: "rollout", Title: "A rollout, step by step",
	Hint: "Step through the rollout. Then let the new version fail: where does it stop, and what does a third template do about it?",
	New: func() figure.Figure {
		return newRollout(settings{replicas: 10, surge: "3", unavailable: "2"})
	},
	Story: []figure.Action{{Key: "step"}, {Key: "step"}, {Key: "step"}, {Key: "step"}, {Key: "step"}, {Key: "step"}, {Key: "step"}, {Key: "step"}},
}

// settings are what a user writes.
type settings struct {
	replicas           int
	surge, unavailable string
	fails              bool // Pods of the newest template never become ready
}

type rollout struct {
	settings
	limits  deployment.Limits
	newSet  deployment.Size
	oldSets []deployment.Size // the oldest first
	rows    []row
}

// row is a line of the story, with what there was after it.
type row struct {
	what    string
	newSet  deployment.Size
	oldSets []deployment.Size
}

func newRollout(s settings) *rollout {
	r := &rollout{settings: s, limits: deployment.LimitsOf(s.replicas, s.surge, s.unavailable)}
	r.oldSets = []deployment.Size{{Wanted: s.replicas, Available: s.replicas}}
	r.note("at first")
	return r
}

func (r *rollout) note(what string) {
	r.rows = append(r.rows, row{what, r.newSet, append([]deployment.Size(nil), r.oldSets...)})
}

func (r *rollout) Controls() []figure.Control {
	amounts := figure.Options("0", "1", "2", "3", "5", "10%", "25%", "30%", "50%", "100%")
	done, starting, again := "", "", ""
	switch {
	case r.isComplete():
		starting = "The rollout is complete: all Pods are new, and serve."
		done = starting + " Start over, or change the template again."
	case r.starting() == 0:
		starting = "No new Pod is starting."
	case r.fails:
		starting = "Pods of this template never become ready."
	}
	if !r.canMove() && r.fails && done == "" {
		done = r.stuck()
	}
	if len(r.oldSets) > 3 {
		again = "Five templates are enough for the picture."
	}
	return []figure.Control{
		{Key: "step", Label: "Step", Kind: figure.Button, Off: done, Next: true},
		{Key: "one", Label: "One Pod becomes ready", Kind: figure.Button, Off: starting},
		{Key: "template", Label: "Change the template again", Kind: figure.Button, Group: "The rollout", Off: again},
		{Key: "fails", Label: "New Pods never become ready", Kind: figure.Check, Group: "The rollout", Value: strconv.FormatBool(r.fails)},
		{Key: "replicas", Label: "replicas", Kind: figure.Range, Group: "Start again with", Value: strconv.Itoa(r.replicas), Min: 1, Max: 12},
		{Key: "surge", Label: "maxSurge", Kind: figure.Choice, Group: "Start again with", Value: r.surge, Options: amounts},
		{Key: "unavailable", Label: "maxUnavailable", Kind: figure.Choice, Group: "Start again with", Value: r.unavailable, Options: amounts},
	}
}

func (r *rollout) Do(action figure.Action) string {
	s := r.settings
	switch action.Key {
	case "step":
		return r.step()
	case "one":
		r.newSet.Available++
		r.note("one serves")
		return "One new Pod has become ready. " + r.standing()
	case "template":
		return r.another()
	case "fails":
		r.fails = action.Value == "true"
		if r.fails {
			return "The new version is bad: from now on none of its Pods becomes ready. Those that serve go on."
		}
		return "Pods of the newest template become ready."
	case "replicas":
		s.replicas, _ = strconv.Atoi(action.Value)
	case "surge":
		s.surge = action.Value
	case "unavailable":
		s.unavailable = action.Value
	default:
		return ""
	}
	*r = *newRollout(s)
	return r.explainLimits()
}

// step does one write of the controller, if there is one to do; or else all Pods that start become ready.
func (r *rollout) step() string {
	if to := deployment.NewSize(r.limits, r.newSet, r.oldSets); to != r.newSet.Wanted {
		total, _ := r.total()
		said := pods(total) + " " + either(total, "was", "were") + " there, and " + strconv.Itoa(r.most()) + " may be. So the new ReplicaSet asks for " + strconv.Itoa(to-r.newSet.Wanted) + " more, which makes " + strconv.Itoa(to) + " of " + strconv.Itoa(r.replicas) + ". "
		r.newSet.Wanted = to
		r.note("new up")
		return said + r.standing()
	}
	if said := r.shrink(); said != "" {
		return said + r.standing()
	}
	if r.starting() == 0 || r.fails {
		return r.stuck()
	}
	came := r.starting()
	r.newSet.Available = r.newSet.Wanted
	r.note("they serve")
	return "The controller could only wait, until " + pods(came) + " had become ready. " + r.standing()
}

// shrink lets old Pods go, and says why, if any may. Those that do not serve go first, as a ReplicaSet does it.
func (r *rollout) shrink() (said string) {
	_, serving := r.total()
	idle, served := 0, 0 // of those that go
	for i, to := range deployment.OldSizes(r.limits, r.newSet, r.oldSets) {
		old := &r.oldSets[i]
		left := min(old.Available, to)
		served += old.Available - left
		idle += old.Wanted - to - (old.Available - left)
		old.Wanted, old.Available = to, left
	}
	if idle > 0 {
		said += pods(idle) + " of the old ones did not serve, so nobody misses " + either(idle, "it: it goes. ", "them: they go. ")
	}
	if served > 0 {
		said += pods(serving) + " served, and " + strconv.Itoa(r.least()) + " have to. So " + r.leaving(served) + ". "
	}
	if said != "" {
		r.note("old down")
	}
	return said
}

// leaving names the old Pods that go.
func (r *rollout) leaving(n int) string {
	left := 0
	for _, old := range r.oldSets {
		left += old.Wanted
	}
	switch {
	case left == 0 && n == 1:
		return "the last old one goes"
	case left == 0:
		return "the last " + strconv.Itoa(n) + " old ones go"
	}
	return strconv.Itoa(n) + " old " + either(n, "one goes", "ones go")
}

// another makes the new ReplicaSet an old one.
func (r *rollout) another() string {
	r.oldSets = append(r.oldSets, r.newSet)
	r.newSet, r.fails = deployment.Size{}, false
	r.note("new template")
	return "What was new is old now, and another ReplicaSet begins with no Pods. " + r.standing()
}

func (r *rollout) starting() int { return r.newSet.Wanted - r.newSet.Available }

// total is how many Pods are asked for, and serving how many serve.
func (r *rollout) total() (total, serving int) { return row{"", r.newSet, r.oldSets}.total() }

func (w row) total() (total, serving int) {
	total, serving = w.newSet.Wanted, w.newSet.Available
	for _, old := range w.oldSets {
		total += old.Wanted
		serving += old.Available
	}
	return total, serving
}

func (r *rollout) isComplete() bool {
	total, _ := r.total()
	return r.newSet == deployment.Size{Wanted: r.replicas, Available: r.replicas} && total == r.replicas
}

// canMove is true if the controller has something to write.
func (r *rollout) canMove() bool {
	if deployment.NewSize(r.limits, r.newSet, r.oldSets) != r.newSet.Wanted {
		return true
	}
	for i, to := range deployment.OldSizes(r.limits, r.newSet, r.oldSets) {
		if to != r.oldSets[i].Wanted {
			return true
		}
	}
	return false
}

// standing compares what there is now with the limits. It is about the same moment as the last row.
func (r *rollout) standing() string {
	total, serving := r.total()
	said := "Now there " + either(total, "is ", "are ") + pods(total) + " (at most " + strconv.Itoa(r.most()) + "), and " + strconv.Itoa(serving) + either(serving, " serves", " serve") + " (at least " + strconv.Itoa(r.least()) + ")."
	if r.isComplete() {
		said += " The rollout is complete."
	}
	return said
}

func (r *rollout) most() int  { return r.limits.Desired + r.limits.Surge }
func (r *rollout) least() int { return r.limits.Desired - r.limits.Unavailable }

func (r *rollout) stuck() string {
	return "The rollout is stuck: it waits for " + pods(r.starting()) + " that never become ready. It does no harm. " + r.standing() + " Change the template again."
}

func (r *rollout) explainLimits() string {
	said := "maxSurge" + amount(r.surge, " of "+strconv.Itoa(r.replicas), r.limits.Surge, "up") + "; maxUnavailable" + amount(r.unavailable, "", r.limits.Unavailable, "down") + "."
	if zero := deployment.LimitsOf(r.replicas, r.surge, "0"); zero.Surge == 0 && r.limits.Unavailable == 1 && (r.unavailable == "0" || r.unavailable[len(r.unavailable)-1] == '%') {
		said = "maxSurge is 0, and so would be maxUnavailable: then nothing could ever move, so one Pod may be missing."
	}
	return said + " So there are at most " + pods(r.most()) + ", and at least " + strconv.Itoa(r.least()) + either(r.least(), " serves.", " serve.")
}

// amount says what a number or a percentage comes to.
func amount(text, of string, n int, rounded string) string {
	if text[len(text)-1] != '%' {
		return " is " + text
	}
	return " " + text + of + " is " + strconv.Itoa(n) + ", rounded " + rounded
}

func pods(n int) string { return strconv.Itoa(n) + either(n, " Pod", " Pods") }

// either is the form of a word for one thing, or that for several.
func either(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

func (r *rollout) Words() string {
	words := "New: " + pods(r.newSet.Wanted) + ", of which " + strconv.Itoa(r.newSet.Available) + " serve."
	for _, old := range r.oldSets {
		words += " Old: " + pods(old.Wanted) + ", of which " + strconv.Itoa(old.Available) + " serve."
	}
	return words + " At most " + strconv.Itoa(r.most()) + " may be there, and at least " + strconv.Itoa(r.least()) + " have to serve."
}
