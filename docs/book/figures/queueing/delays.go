//go:build figures

package queueing

import (
	"strconv"
	"time"

	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/workqueue"
)

// Delays is the figure of chapter 7.
var Delays = figure.Definition{
	Name: "delays", Title: "Delays on a timeline",
	Hint: "Ask for web after 8 seconds, then after 3, then after 10. Which moment counts? Then let time pass.",
	New: func() figure.Figure {
		return &delays{cores: workqueue.NewCores(), item: "web", after: 3}
	},
	Story: []figure.Action{
		{Key: "after", Value: "8"}, {Key: "AddAfter"}, {Key: "item", Value: "api"}, {Key: "after", Value: "5"}, {Key: "AddAfter"},
		{Key: "second"}, {Key: "second"}, {Key: "item", Value: "web"}, {Key: "after", Value: "2"}, {Key: "AddAfter"},
		{Key: "item", Value: "db"}, {Key: "after", Value: "10"}, {Key: "AddAfter"}, {Key: "second"}, {Key: "second"},
		{Key: "item", Value: "api"}, {Key: "after", Value: "5"}, {Key: "AddAfter"},
	},
}

type delays struct {
	cores *workqueue.Cores
	now   time.Duration
	item  string
	after int // seconds
	past  []moment
	asked moment // the last request for an alarm that was not kept, or the moment that an alarm had before
	gone  bool   // asked is a moment that no longer counts
}

// moment is something that happened to an item, or that somebody asked for.
type moment struct {
	item string
	at   time.Duration
	what string
}

func (d *delays) Controls() []figure.Control {
	none := ""
	if !d.isPending(d.item) {
		none = d.item + " has no alarm: there is nothing to cancel."
	}
	idle := ""
	if len(d.cores.Ready()) == 0 {
		idle = "Nothing is ready, so the worker sleeps."
	}
	later := ""
	if _, ok := d.cores.NextAlarm(); !ok {
		later = "No alarm is pending, so there is no timer."
	}
	return []figure.Control{
		{Key: "second", Label: "One second", Kind: figure.Button, Next: true},
		{Key: "timer", Label: "Until the timer is up", Kind: figure.Button, Off: later},
		{Key: "work", Label: "Get and Done", Kind: figure.Button, Off: idle},
		{Key: "item", Label: "Item", Kind: figure.Choice, Group: "Somebody asks", Value: d.item, Options: figure.Options(items...)},
		{Key: "after", Label: "After", Kind: figure.Choice, Group: "Somebody asks", Value: strconv.Itoa(d.after), Options: []figure.Option{
			{Value: "0", Label: "now"}, {Value: "1", Label: "1 s"}, {Value: "2", Label: "2 s"}, {Value: "3", Label: "3 s"}, {Value: "5", Label: "5 s"}, {Value: "8", Label: "8 s"}, {Value: "10", Label: "10 s"},
		}},
		{Key: "AddAfter", Label: "AddAfter", Kind: figure.Button, Group: "Somebody asks"},
		{Key: "ReplaceAfter", Label: "ReplaceAfter", Kind: figure.Button, Group: "Somebody asks"},
		{Key: "Cancel", Label: "Cancel", Kind: figure.Button, Group: "Somebody asks", Off: none},
	}
}

func (d *delays) Do(action figure.Action) string {
	switch action.Key {
	case "item":
		d.item = action.Value
		if d.isPending(d.item) {
			return d.item + " has an alarm for second " + seconds(d.due(d.item)) + "."
		}
		return d.item + " has no alarm."
	case "after":
		d.after, _ = strconv.Atoi(action.Value)
		if d.after == 0 {
			return "Without a delay, whoever asks for " + d.item + " adds it now."
		}
		return "It is second " + seconds(d.now) + ", so whoever asks for " + d.item + " now means second " + seconds(d.now+time.Duration(d.after)*time.Second) + "."
	case "AddAfter", "ReplaceAfter":
		return d.ask(action.Key == "ReplaceAfter")
	case "Cancel":
		d.asked, d.gone = moment{d.item, d.due(d.item), ""}, true
		d.cores.Cancel(d.item)
		return "The alarm of " + d.item + " is gone. If it had gone off already, there would be nothing to cancel."
	case "second":
		return d.pass(d.now + time.Second)
	case "timer":
		at, _ := d.cores.NextAlarm()
		return d.pass(at)
	case "work":
		item, _, _ := d.cores.Get()
		d.cores.Done(item)
		d.past = append(d.past, moment{item, d.now, "done"})
		if d.isPending(item) {
			return "The worker gets " + item + ", and is done with it. The alarm of " + item + " for second " + seconds(d.due(item)) + " stays."
		}
		return "The worker gets " + item + ", and is done with it. It has no alarm, so the queue forgets it."
	}
	return ""
}

func (d *delays) ask(replace bool) string {
	before, had := d.due(d.item), d.isPending(d.item)
	after := time.Duration(d.after) * time.Second
	d.asked, d.gone = moment{}, false
	switch outcome := d.cores.Delay(d.item, d.now, after, replace); outcome {
	case workqueue.Started:
		return "started: " + d.item + " gets an alarm for second " + seconds(d.now+after) + "."
	case workqueue.Moved:
		d.asked, d.gone = moment{d.item, before, ""}, true
		if replace {
			return "moved: the caller knows better, so second " + seconds(d.now+after) + " counts instead of " + seconds(before) + "."
		}
		return "moved: second " + seconds(d.now+after) + " is earlier than " + seconds(before) + ", and the earliest wins."
	case workqueue.Kept:
		if before == d.now+after {
			return "kept: the alarm of " + d.item + " is for second " + seconds(before) + " already."
		}
		d.asked = moment{d.item, d.now + after, ""}
		return "kept: the alarm is for second " + seconds(before) + ", which is earlier than " + seconds(d.now+after) + ". Whoever asked for it relies on it; a look too early does no harm."
	default:
		d.past = append(d.past, moment{d.item, d.now, "added"})
		switch {
		case replace && had:
			d.asked, d.gone = moment{d.item, before, ""}, true
			return outcome + ": ReplaceAfter with no delay is an add now, and takes the place of the alarm for second " + seconds(before) + "."
		case had:
			return outcome + ": no delay is an Add. The alarm for second " + seconds(before) + " stays: " + d.item + " gets two looks, now and then."
		}
		return outcome + ": no delay is an Add."
	}
}

// pass lets time go by, and the alarms go off in their order.
func (d *delays) pass(until time.Duration) string {
	d.now, d.asked = until, moment{}
	said := ""
	for {
		at, _ := d.cores.NextAlarm()
		item, verdict, ok := d.cores.GoOff(d.now)
		if !ok {
			break
		}
		d.past = append(d.past, moment{item, at, "off"})
		if said != "" {
			said += " "
		}
		said += "The alarm of " + item + " goes off and becomes an add: " + verdict + "."
	}
	if said == "" {
		return "Second " + seconds(d.now) + ". No alarm is due."
	}
	return said
}

func (d *delays) isPending(item string) bool { return d.due(item) != 0 }

// due is the moment of an item's alarm; 0 is none.
func (d *delays) due(item string) time.Duration {
	for _, alarm := range d.cores.Alarms() {
		if alarm.Item == item {
			return alarm.At
		}
	}
	return 0
}

func seconds(at time.Duration) string { return strconv.Itoa(int(at / time.Second)) }

func (d *delays) Words() string {
	words := "It is second " + seconds(d.now) + "."
	for _, item := range items {
		if d.isPending(item) {
			words += " The alarm of " + item + " is due at second " + seconds(d.due(item)) + "."
		}
	}
	return words + " Ready, in order: " + list(d.cores.Ready()) + "."
}
