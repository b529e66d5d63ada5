//go:build figures

package watching

import (
	"strconv"
	"time"

	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/informer"
)

// Reflector is the figure of chapter 3.
var Reflector = figure.Definition{
	Name: "reflector", Title: "The reflector's state machine",
	Hint: "You are the API server. Let the watch break, early and late; forget the reflector's place with 410; refuse streams. What does it lose each time?",
	New:  func() figure.Figure { return newReflector(true) },
	Story: []figure.Action{
		{Key: "begin"}, {Key: "accept"}, {Key: "initial"}, {Key: "whole"}, {Key: "changed"}, {Key: "break late"}, {Key: "accept"}, {Key: "break early"},
	},
}

// reflector lets a reader play the API server.
type reflector struct {
	streams bool
	machine *informer.Machine
	last    informer.Decision
	from    string // the state before the last step
	server  int    // the newest resourceVersion that the server has
	kept    bool   // a part of a view was collected
	steps   []step
}

// step is a line of the story.
type step struct{ happened, decided string }

func newReflector(streams bool) *reflector {
	return &reflector{streams: streams, machine: informer.NewMachine(streams), server: 100}
}

// answer is something that can happen, as a control.
type answer struct {
	key, label, group string
	happened          string
	happening         informer.Happening
}

// The groups of answers. The usual one is not in a group but in the bar.
const (
	well  = "What else may happen"
	wrong = "What may go wrong"
)

const soon = 100 * time.Millisecond

// usual are the keys of what happens if all goes well: one of them in each state.
var usual = map[string]bool{"begin": true, "accept": true, "whole": true, "changed": true, "page": true, "rest": true}

// answers are what can happen now: they depend on what the reflector does.
func (r *reflector) answers() []answer {
	newer := strconv.Itoa(r.server + 1)
	older := informer.Happening{Version: strconv.Itoa(r.server - 50), Last: true, After: soon}
	switch r.last.Do {
	case "":
		return []answer{{"begin", "Run is called", well, "Run is called.", informer.Happening{Kind: "begin"}}}
	case "stream":
		return append([]answer{
			{"accept", "The server accepts the stream", well, "The server accepts the stream.", informer.Happening{Kind: "opened", After: soon}},
			{"unknown", "400: it refuses WatchList", wrong, "The server refuses WatchList.", informer.Happening{Kind: "failed", Fault: "unsupported", After: soon}},
		}, r.refusals()...)
	case "watch":
		return append([]answer{
			{"accept", "The server accepts the watch", well, "The server accepts the watch.", informer.Happening{Kind: "opened", After: soon}},
		}, r.refusals()...)
	case "list", "page":
		return append(r.pages(newer, older), r.refusals()...)
	case "pause":
		return []answer{{"rest", "The pause is over", well, "The pause is over.", informer.Happening{Kind: "paused", After: r.last.Pause}}}
	case "read":
		if r.machine.Memory().State == "streaming" {
			return r.initialEvents(newer, older)
		}
		return r.news(newer)
	}
	return nil
}

// refusals are what can happen to any request.
func (r *reflector) refusals() []answer {
	answers := []answer{
		{"break", "The connection fails", wrong, "The connection fails.", informer.Happening{Kind: "failed", After: soon}},
		{"busy", "429: come back in 7 s", wrong, "The server is busy: come back in 7 s.", informer.Happening{Kind: "failed", Asked: 7 * time.Second, After: soon}},
		{"gone", "410: that version is too old", wrong, "410: the server has forgotten that version.", informer.Happening{Kind: "failed", Fault: "expired", After: soon}},
	}
	if r.last.Do != "watch" && r.last.Version != "" {
		answers = append(answers, answer{"future", "504: it has not seen that version yet", wrong, "The server has not seen that version yet.", informer.Happening{Kind: "failed", Fault: "too large", After: soon}})
	}
	return answers
}

func (r *reflector) pages(newer string, older informer.Happening) []answer {
	older.Kind = "page"
	answers := []answer{
		{"page", "The last page", well, "The last page comes, of version " + newer + ".", informer.Happening{Kind: "page", Version: newer, Last: true, After: soon}},
	}
	if !r.last.Whole {
		answers = append(answers, answer{"more", "A page, and there are more", well, "A page comes, and there are more.", informer.Happening{Kind: "page", Version: newer, After: soon}})
	}
	answers = append(answers, answer{"versionless", "A list without a version", wrong, "A list without a resourceVersion comes.", informer.Happening{Kind: "page", Last: true, After: soon}})
	if r.machine.Memory().Floor != "" {
		answers = append(answers, answer{"older", "A list from the past", wrong, "A list of version " + older.Version + " comes.", older})
	}
	return answers
}

func (r *reflector) initialEvents(newer string, older informer.Happening) []answer {
	older.Kind, older.Event = "event", "BOOKMARK"
	answers := []answer{
		{"initial", "An object comes", well, "ADDED: an object comes.", informer.Happening{Kind: "event", Event: "ADDED", Version: newer, After: soon}},
		{"whole", "A bookmark: that was all", well, "A bookmark says that the initial events have ended, at version " + newer + ".", informer.Happening{Kind: "event", Event: "BOOKMARK", Last: true, Version: newer, After: soon}},
		{"bookmark", "An ordinary bookmark", wrong, "An ordinary bookmark comes.", informer.Happening{Kind: "event", Event: "BOOKMARK", Version: newer, After: soon}},
		{"stall", "Nothing comes any more", wrong, "Nothing comes for too long.", informer.Happening{Kind: "failed", Fault: "stalled", After: 30 * time.Second}},
		{"break", "The stream breaks", wrong, "The stream breaks.", informer.Happening{Kind: "failed", After: soon}},
		{"gone", "410: that version is too old", wrong, "410: the server has forgotten that version.", informer.Happening{Kind: "failed", Fault: "expired", After: soon}},
	}
	if r.machine.Memory().Floor != "" {
		answers = append(answers, answer{"older", "The end of a view from the past", wrong, "The view ends at version " + older.Version + ".", older})
	}
	return answers
}

func (r *reflector) news(newer string) []answer {
	return []answer{
		{"changed", "An object changes", well, "MODIFIED: an object changes, at version " + newer + ".", informer.Happening{Kind: "event", Event: "MODIFIED", Version: newer, After: time.Second}},
		{"bookmark", "A bookmark", well, "A bookmark says that nothing happened up to version " + newer + ".", informer.Happening{Kind: "event", Event: "BOOKMARK", Version: newer, After: time.Minute}},
		{"end late", "The server ends it after 10 minutes", well, "After 10 minutes, the server ends the watch.", informer.Happening{Kind: "ended", After: 10 * time.Minute}},
		{"break late", "It breaks after 10 minutes", wrong, "After 10 minutes, the watch breaks.", informer.Happening{Kind: "failed", After: 10 * time.Minute}},
		{"break early", "It breaks at once", wrong, "The watch breaks at once.", informer.Happening{Kind: "failed", After: soon}},
		{"end early", "The server ends it at once", wrong, "The server ends the watch at once.", informer.Happening{Kind: "ended", After: soon}},
		{"gone", "410: that version is too old", wrong, "410: the server has forgotten that version.", informer.Happening{Kind: "failed", Fault: "expired", After: soon}},
		{"past", "An event from the past", wrong, "An event of version " + strconv.Itoa(r.server-50) + " comes.", informer.Happening{Kind: "event", Event: "MODIFIED", Version: strconv.Itoa(r.server - 50), After: time.Second}},
	}
}

func (r *reflector) Controls() (controls []figure.Control) {
	for _, a := range r.answers() {
		control := figure.Control{Key: a.key, Label: a.label, Kind: figure.Button, Group: a.group}
		if usual[a.key] {
			control.Group, control.Next = "", true
		}
		controls = append(controls, control)
	}
	return append(controls, figure.Control{
		Key: "streams", Label: "It asks for streams first", Kind: figure.Check, Group: "The reflector", Value: strconv.FormatBool(r.streams),
	})
}

func (r *reflector) Do(action figure.Action) string {
	if action.Key == "streams" {
		*r = *newReflector(action.Value == "true")
		if r.streams {
			return "A new reflector, which asks for a stream first. Call Run."
		}
		return "A new reflector, whose streams are switched off. Call Run."
	}
	for _, a := range r.answers() {
		if a.key == action.Key {
			return r.step(a)
		}
	}
	return ""
}

func (r *reflector) step(a answer) string {
	before := r.machine.Memory()
	if version, err := strconv.Atoi(a.happening.Version); err == nil {
		r.server = max(r.server, version)
	}
	r.from, r.last = before.State, r.machine.Step(a.happening)
	r.collect()
	after := r.machine.Memory()
	r.steps = append(r.steps, step{a.happened, r.inWords()})
	said := a.happened + " " + capital(r.inWords())
	if why := r.why(a.happening, before, after); why != "" {
		said += " " + why
	}
	return said
}

// collect notes what the reflector keeps of a view. If that is nothing, it has nothing to throw away.
func (r *reflector) collect() {
	switch r.last.Deliver {
	case "collect":
		r.kept = true
	case "replace":
		r.kept = false
	case "discard":
		if !r.kept {
			r.last.Deliver = ""
		}
		r.kept = false
	}
}
