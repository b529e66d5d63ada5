//go:build figures

// Package queueing has the figures of part II: the deduplicating queue, delays, and priorities. The queue in them
// is that of package workqueue, without its lock and its clock.
package queueing

import (
	"strconv"

	"github.com/loopwright/loopwright/docs/book/figures/draw"
	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/workqueue"
)

// Figures are those of this part.
var Figures = []figure.Definition{Queue, Delays, Priority}

// Queue is the figure of chapter 6.
var Queue = figure.Definition{
	Name: "queue", Title: "The deduplicating queue",
	Hint: "Add an item twice, let a worker get it, and add it again before the worker is done.",
	New:  func() figure.Figure { return &queue{cores: workqueue.NewCores()} },
	Story: []figure.Action{
		{Key: "add web"}, {Key: "add api"}, {Key: "add web"}, {Key: "worker 1"}, {Key: "add web"}, {Key: "add db"},
	},
}

// items are what is added to queues, and tintOf their colours.
var items = []string{"web", "api", "db"}

func tintOf(item string) string {
	return map[string]string{"web": "tint1", "api": "tint2", "db": "tint3"}[item]
}

const workers = 2

type queue struct {
	cores *workqueue.Cores
	holds [workers]string // what each worker holds
	adds  int             // all that ever were
	looks int             // how often a worker got something
}

func (q *queue) Controls() (controls []figure.Control) {
	for _, item := range items {
		controls = append(controls, figure.Control{Key: "add " + item, Label: "Add " + item, Kind: figure.Button})
	}
	for i, held := range q.holds {
		control := figure.Control{Key: "worker " + strconv.Itoa(i+1), Kind: figure.Button, Label: "Worker " + strconv.Itoa(i+1) + ": Get"}
		switch {
		case held != "":
			control.Label = "Worker " + strconv.Itoa(i+1) + ": Done " + held
		case len(q.cores.Ready()) == 0:
			control.Off = "Nothing is ready. A worker that calls Get now sleeps until something is."
		}
		controls = append(controls, control)
	}
	return controls
}

func (q *queue) Do(action figure.Action) string {
	for i := range q.holds {
		if action.Key == "worker "+strconv.Itoa(i+1) {
			if q.holds[i] == "" {
				return q.get(i)
			}
			return q.done(i)
		}
	}
	for _, item := range items {
		if action.Key == "add "+item {
			return q.add(item)
		}
	}
	return ""
}

func (q *queue) add(item string) string {
	q.adds++
	held := q.cores.Entry(item).Processing
	switch q.cores.Add(item, "", 0) {
	case workqueue.Queued:
		return "queued: " + item + " is dirty now, and no worker holds it. It waits for a worker."
	case workqueue.Deferred:
		return "deferred: a worker holds " + item + ", and may have looked before this change. So it is dirty, but nobody gets it until Done."
	default:
		if held {
			return "merged: " + item + " is dirty already. When its worker is done, one more look answers all of these adds."
		}
		all := "both adds."
		if n := q.cores.Entry(item).Adds; n > 2 {
			all = "all " + adds(n) + "."
		}
		return "merged: " + item + " waits already. One look will answer " + all
	}
}

func (q *queue) get(worker int) string {
	item, adds, ok := q.cores.Get()
	if !ok {
		return ""
	}
	q.holds[worker] = item
	q.looks++
	answers := "the add"
	if adds > 1 {
		answers = strconv.Itoa(adds) + " adds"
	}
	return "Worker " + strconv.Itoa(worker+1) + " gets " + item + ", to answer " + answers + ". It is not dirty any more, but processing: an add that comes now is news."
}

func (q *queue) done(worker int) string {
	item := q.holds[worker]
	q.holds[worker] = ""
	q.cores.Done(item)
	if q.cores.Entry(item).Dirty {
		return item + " was added while the worker held it, so it is ready now. The change is not lost, and no two workers had it."
	}
	return "Nothing was added in the meantime. The queue forgets " + item + "."
}

func (q *queue) Words() string {
	words := "Ready, in order: " + list(q.cores.Ready()) + "."
	for i, held := range q.holds {
		words += " Worker " + strconv.Itoa(i+1)
		if held == "" {
			words += " is idle."
		} else {
			words += " holds " + held + "."
		}
	}
	for _, item := range items {
		if e := q.cores.Entry(item); e.Known {
			words += " " + item + " is " + stateOf(e) + "."
		}
	}
	return words
}

// stateOf says in words what an entry's two answers mean.
func stateOf(e workqueue.Entry) string {
	switch {
	case e.Dirty && e.Processing:
		return "dirty and processing"
	case e.Dirty:
		return "dirty"
	case e.Processing:
		return "processing"
	default:
		return "unknown"
	}
}

func (q *queue) Draw(p *draw.Page) {
	p.Heading("Queue", "ready: dirty, and not processing")
	var chips []draw.Chip
	for _, item := range q.cores.Ready() {
		chips = append(chips, draw.Chip{Text: item, Class: tintOf(item)})
	}
	p.Panel(func() { p.Row(draw.Margin, chips, "empty") })
	p.Heading("Workers", "")
	p.Panel(func() { q.drawWorkers(p) })
	p.Heading("What the queue knows", "one entry for each item")
	p.Panel(func() { q.drawEntries(p) })
	p.Y += 15
	p.Text("small dim", draw.Margin, p.Y, adds(q.adds)+" so far, "+looks(q.looks)+" at an object")
}

func (q *queue) drawWorkers(p *draw.Page) {
	half := p.Inner() / workers
	for i, held := range q.holds {
		x := draw.Margin + float64(i)*half
		p.Text("", x, p.Y+20, "Worker "+strconv.Itoa(i+1))
		if held == "" {
			p.Text("dim", x+76, p.Y+20, "idle")
		} else {
			p.Chip(x+76, p.Y, draw.Chip{Text: held, Class: tintOf(held)})
		}
	}
	p.Y += draw.ChipHeight
}

func (q *queue) drawEntries(p *draw.Page) {
	columns := [4]float64{draw.Margin, draw.Margin + 76, draw.Margin + 150, draw.Margin + 246}
	if p.Narrow() {
		columns = [4]float64{draw.Margin, draw.Margin + 60, draw.Margin + 112, draw.Margin + 200}
	}
	for i, head := range []string{"item", "dirty", "processing", "so"} {
		p.Text("small dim", columns[i], p.Y+12, head)
	}
	p.Y += 20
	for _, item := range items {
		e := q.cores.Entry(item)
		p.Chip(columns[0], p.Y, draw.Chip{Text: item, Class: tintOf(item)})
		for i, yes := range []bool{e.Dirty, e.Processing} {
			if yes {
				p.Text("bold", columns[i+1], p.Y+20, "yes")
			} else {
				p.Text("dim", columns[i+1], p.Y+20, "no")
			}
		}
		p.Text("", columns[3], p.Y+20, q.meaning(e, p.Narrow()))
		p.Y += draw.ChipHeight + 6
	}
}

func (q *queue) meaning(e workqueue.Entry, short bool) string {
	text, brief := "unknown: it has no entry", "unknown"
	switch {
	case e.Dirty && e.Processing:
		text, brief = "held; ready again after Done ("+adds(e.Adds)+")", "again after Done"
	case e.Dirty:
		text, brief = "ready: it waits for a worker ("+adds(e.Adds)+")", "ready, "+adds(e.Adds)
	case e.Processing:
		text, brief = "held by a worker", "held"
	}
	if short {
		return brief
	}
	return text
}

func looks(n int) string {
	if n == 1 {
		return "1 look"
	}
	return strconv.Itoa(n) + " looks"
}

func adds(n int) string {
	if n == 1 {
		return "1 add"
	}
	return strconv.Itoa(n) + " adds"
}

// list is some names in words.
func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	text := names[0]
	for _, name := range names[1:] {
		text += ", " + name
	}
	return text
}
