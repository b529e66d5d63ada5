package figures

import (
	_ "embed"
	"strings"
)

// stateStyle has the classes of states: well, fresh, ending and waiting.
//
//go:embed steps.css
var stateStyle string

// StateStyle is the rules for the classes of states, for other pictures that have states.
func StateStyle() string { return stateStyle }

// State is what a thing is like: a class of steps.css, and a few words, in lines. The zero
// State is that of a thing that isn't there.
type State struct{ Class, Text string }

// Steps is a picture of what happens, step by step. Time runs down: there's a row for each
// step, with what happens at its left, and a column for each thing. A state that lasts is
// one bar.
type Steps struct {
	things []string
	whats  []string
	states [][]State
}

// NewSteps returns a picture of these things, without a step. A name may have two lines.
func NewSteps(things ...string) *Steps { return &Steps{things: things} }

// Add adds a step, and the states of the things after it. Its words may have two lines.
func (s *Steps) Add(what string, states ...State) {
	s.whats = append(s.whats, what)
	s.states = append(s.states, states)
}

// The measures of Steps. A telephone shows 480 at three quarters of their size.
const (
	stepsWidth  = 480
	stepsTop    = 44
	stepsHeight = 44 // of a row
	stepsLetter = 7  // of small text: some are wider, most are not
)

// Draw returns the picture.
func (s *Steps) Draw(title, desc string) *Canvas {
	c := New(0, title, desc)
	c.Resize(stepsWidth, stepsTop+stepsHeight*len(s.whats)+10)
	c.Style(stateStyle)
	left := s.left()
	width := (stepsWidth - left - 8) / float64(len(s.things))
	for i, what := range s.whats {
		y := float64(stepsTop + stepsHeight*i)
		c.Line("grid", 8, y, stepsWidth-8, y)
		c.TextBlock("small", 12, y+stepsHeight/2, what)
	}
	for i, thing := range s.things {
		x := left + width*float64(i)
		c.TextBlock("small bold middle", x+width/2, stepsTop/2, thing)
		for from := 0; from < len(s.states); {
			state, to := s.states[from][i], from
			for to < len(s.states) && s.states[to][i] == state {
				to++
			}
			if state != (State{}) {
				y, height := float64(stepsTop+stepsHeight*from), float64(stepsHeight*(to-from))
				c.Rect("state "+state.Class, x+3, y+4, width-6, height-8, 6)
				c.TextBlock("small middle", x+width/2, y+height/2, state.Text)
			}
			from = to
		}
	}
	return c
}

// left is where the first column begins: behind the longest line of words.
func (s *Steps) left() float64 {
	longest := 0
	for _, what := range s.whats {
		for line := range strings.SplitSeq(what, "\n") {
			longest = max(longest, len([]rune(line)))
		}
	}
	return float64(24 + stepsLetter*longest)
}

// TextBlock writes lines of small text around the height y.
func (c *Canvas) TextBlock(class string, x, y float64, text string) {
	lines := strings.Split(text, "\n")
	y += 5 - 8*float64(len(lines)-1)
	for i, line := range lines {
		c.Text(class, x, y+16*float64(i), line)
	}
}
