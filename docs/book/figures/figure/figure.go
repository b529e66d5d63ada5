// Package figure says what a figure of the book is: some controls, what they do, and a picture of the state.
//
// A reader's action goes in, by the figure's name of a control; a sentence that says what happened and why comes
// out, and then a picture (package draw). All of it is Go, and the decisions are those of the library's own pure
// cores, so the same code draws the picture of a chapter and the figure in a browser, and its tests run natively.
//
// Neighbours: above it is package shell, which shows figures to a page's script; beside it is package build, which
// knows which files of the library a figure is made of.
package figure

import "github.com/loopwright/loopwright/docs/book/figures/draw"

// Figure is the state of something, and what a reader may do to it. The same actions lead to the same state.
type Figure interface {
	// Controls are what a reader can do now, in the order of the page.
	Controls() []Control
	// Do does one of these things, and says what happened and why.
	Do(action Action) (said string)
	// Words is the state for those who do not see the picture.
	Words() string
	// Draw draws the state.
	Draw(page *draw.Page)
}

// Action is the use of a control. Value is what was chosen; a button has none.
type Action struct{ Key, Value string }

// Kind is what a control looks like.
type Kind string

const (
	Button Kind = "button"
	Choice Kind = "choice" // one of Options
	Range  Kind = "range"  // a number from Min to Max
	Check  Kind = "check"  // "true" or "false"
)

// Control is something that a reader can use.
type Control struct {
	Key     string
	Label   string
	Kind    Kind
	Group   string // what it has in common with its neighbours; those of none are in the bar, close to the picture
	Value   string
	Options []Option
	Min     int
	Max     int
	Off     string // why it can do nothing now; empty if it can
	Next    bool   // the right arrow key presses it
}

// Option is one that can be chosen.
type Option struct{ Value, Label string }

// Options are options whose labels are their values.
func Options(values ...string) []Option {
	options := make([]Option, len(values))
	for i, value := range values {
		options[i] = Option{value, value}
	}
	return options
}

// Definition is a figure before anybody has opened it.
type Definition struct {
	Name  string // in the marker of the chapter
	Title string
	Hint  string // what to try, for the page
	New   func() Figure
	// Story leads from a new figure to the one that the chapter's picture shows. An opened figure begins there, so
	// that the picture stays as it is when a reader opens it.
	Story []Action
}
