//go:build figures

// Package watching has the figures of part I: the reflector's state machine, and the backlog of a handler that is
// slow. Both decide by the pure cores of package informer.
package watching

import (
	"strconv"
	"strings"

	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/informer"
)

// Figures are those of this part.
var Figures = []figure.Definition{Reflector, Listener}

// Listener is the figure of chapter 5.
var Listener = figure.Definition{
	Name: "listener", Title: "What a handler is told that was asleep",
	Hint: "Change web a few times, delete it and create it again. Then let the two keys coalesce: what will the handler never hear?",
	New: func() figure.Figure {
		l := &listener{coalesces: true, exists: map[string]*informer.Thing{}, made: map[string]int{}}
		l.refill()
		return l
	},
	Story: []figure.Action{
		{Key: "create web"}, {Key: "wake"}, {Key: "change web"}, {Key: "create db"}, {Key: "change web"}, {Key: "delete web"}, {Key: "create web"}, {Key: "change db"},
	},
}

var keys = []string{"web", "db"}

// most is how many deltas may wait: a page has room for this many.
const most = 12

type listener struct {
	coalesces bool
	version   int
	made      map[string]int             // objects that ever had the name
	exists    map[string]*informer.Thing // what the informer's store has
	deltas    []informer.Delta
	backlog   *informer.Backlog // of these deltas
	told      []string          // the calls of the last time that the handler was awake
}

func (l *listener) Controls() (controls []figure.Control) {
	full := ""
	if len(l.deltas) >= most {
		full = "There is no room for more in the picture. Let the handler wake up."
	}
	for _, key := range keys {
		group, there, gone := "What happens to "+key, full, full
		if l.exists[key] == nil {
			there = "There is no " + key + "."
		} else {
			gone = key + " is there already."
		}
		controls = append(controls,
			figure.Control{Key: "create " + key, Label: "Create " + key, Kind: figure.Button, Group: group, Off: gone},
			figure.Control{Key: "change " + key, Label: "Change " + key, Kind: figure.Button, Group: group, Off: there},
			figure.Control{Key: "delete " + key, Label: "Delete " + key, Kind: figure.Button, Group: group, Off: there})
	}
	asleep := ""
	if len(l.deltas) == 0 {
		asleep = "There is no news to wake up for."
	}
	return append(controls,
		figure.Control{Key: "wake", Label: "The handler wakes up", Kind: figure.Button, Off: asleep, Next: true},
		figure.Control{Key: "coalesce", Label: "Coalesce", Kind: figure.Check, Group: "The handler", Value: strconv.FormatBool(l.coalesces)})
}

func (l *listener) Do(action figure.Action) string {
	verb, key, _ := strings.Cut(action.Key, " ")
	switch verb {
	case "coalesce":
		l.coalesces = action.Value == "true"
		l.refill()
		if l.coalesces {
			return "Now the backlog has one entry for each key with news. The same deltas need " + entries(len(l.backlog.Pending())) + "."
		}
		return "Without Coalesce, each delta is an entry, in the order of the watch: " + entries(len(l.backlog.Pending())) + "."
	case "wake":
		return l.wake()
	case "create", "change", "delete":
		return l.happens(verb, key)
	}
	return ""
}

// refill puts all deltas into a new backlog.
func (l *listener) refill() {
	l.backlog = informer.NewBacklog(l.coalesces)
	for _, delta := range l.deltas {
		l.backlog.Add(delta)
	}
}

func (l *listener) happens(verb, key string) string {
	l.version++
	old := l.exists[key]
	delta := informer.Delta{Old: old}
	switch verb {
	case "create":
		l.made[key]++
		uid := key + strings.Repeat("'", (l.made[key]-1)%4)
		delta.Type, delta.Object = informer.DeltaAdded, &informer.Thing{Name: key, UID: uid, Version: strconv.Itoa(l.version)}
		l.exists[key] = delta.Object
	case "change":
		delta.Type, delta.Object = informer.DeltaUpdated, &informer.Thing{Name: key, UID: old.UID, Version: strconv.Itoa(l.version)}
		l.exists[key] = delta.Object
	case "delete":
		delta.Type, delta.Object = informer.DeltaDeleted, &informer.Thing{Name: key, UID: old.UID, Version: strconv.Itoa(l.version)}
		delete(l.exists, key)
	}
	before := len(l.backlog.Pending())
	l.deltas = append(l.deltas, delta)
	l.backlog.Add(delta)
	after := len(l.backlog.Pending())
	said := "The store has it at once: " + delta.Type.String() + " " + wordOf(delta.Object) + ". The handler sleeps"
	switch {
	case before < after:
		return said + ", so the backlog gets an entry."
	default:
		return said + ". Its entry for " + key + " takes the delta in, and the backlog is as long as before."
	}
}

func (l *listener) wake() string {
	l.told = nil
	n := 0
	for _, pending := range l.backlog.Take() {
		for _, call := range pending.Calls {
			l.told = append(l.told, callInWords(call))
			n++
		}
	}
	deltas := len(l.deltas)
	l.deltas = nil
	return "The handler wakes up. Of " + several(deltas, "delta", "deltas") + " it is told in " + several(n, "call", "calls") + ": " + strings.Join(l.told, ", ") + ". Then it sleeps again."
}

func entries(n int) string { return several(n, "entry", "entries") }

func several(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// wordOf is an object as the picture shows it: its name, with a stroke for each one of that name that was before it, and
// its version.
func wordOf(t *informer.Thing) string { return t.UID + " " + t.Version }

func callInWords(call informer.Call) string {
	words := make([]string, len(call.Objects))
	for i, object := range call.Objects {
		words[i] = wordOf(object)
	}
	return call.Method + "(" + strings.Join(words, ", ") + ")"
}

func (l *listener) Words() string {
	words := "Deltas that the handler has not heard of: "
	for _, delta := range l.deltas {
		words += delta.Type.String() + " " + wordOf(delta.Object) + ", "
	}
	if len(l.deltas) == 0 {
		words += "none, "
	}
	words = strings.TrimSuffix(words, ", ") + "."
	for _, pending := range l.backlog.Pending() {
		words += " The entry of " + pending.Name + " will be told as"
		for _, call := range pending.Calls {
			words += " " + callInWords(call)
		}
		words += "."
	}
	return words
}
