package figure

import (
	"strings"

	"github.com/loopwright/loopwright/docs/book/figures/draw"
	"github.com/loopwright/loopwright/internal/figures"
)

// Session is a figure that somebody uses. It remembers all actions. So every figure can go back, by doing all but
// the last action again.
type Session struct {
	Definition
	actions []Action
	figure  Figure
	said    string
}

// Keys of the controls that every figure has.
const (
	back    = "back"
	restart = "restart"
)

// Open begins where the chapter's picture stands.
func (d Definition) Open() *Session {
	s := &Session{Definition: d}
	s.replay(d.Story)
	return s
}

// Do takes a reader's action. One that is off is not done; the reason is said instead.
func (s *Session) Do(action Action) {
	for _, control := range s.Controls() {
		if control.Key == action.Key && control.Off != "" {
			s.said = control.Off
			return
		}
	}
	switch action.Key {
	case back:
		s.replay(s.actions[:len(s.actions)-1])
	case restart:
		s.replay(nil)
	default:
		// A slider that is dragged is one thing to take back, not thirty.
		if n := len(s.actions); action.Value != "" && n > 0 && s.actions[n-1].Key == action.Key {
			s.replay(append(s.actions[:n-1:n-1], action))
			return
		}
		s.actions = append(s.actions, action)
		s.said = s.figure.Do(action)
	}
}

func (s *Session) replay(actions []Action) {
	s.figure, s.actions, s.said = s.New(), append([]Action(nil), actions...), ""
	for _, action := range actions {
		s.said = s.figure.Do(action)
	}
}

// Controls are those of the figure, and two more, which are in the bar.
func (s *Session) Controls() []Control {
	off := ""
	if len(s.actions) == 0 {
		off = "This is the beginning."
	}
	return append(s.figure.Controls(),
		Control{Key: back, Label: "Back", Kind: Button, Off: off},
		Control{Key: restart, Label: "Start over", Kind: Button, Off: off})
}

// Figure is the figure in its present state, for tests.
func (s *Session) Figure() Figure { return s.figure }

// Said is what happened last, and why.
func (s *Session) Said() string {
	if s.said == "" {
		return s.Hint
	}
	return s.said
}

// Words is the state for those who do not see the picture.
func (s *Session) Words() string { return s.figure.Words() }

// View is the picture for a page, as wide as that.
func (s *Session) View(width float64) string {
	page := draw.New(width)
	s.figure.Draw(page)
	return page.Finish(s.Title, s.figure.Words()).Inline()
}

// Still is the picture of a chapter: what a page would say below the picture is in it.
func (d Definition) Still() *figures.Canvas {
	s := &Session{Definition: d}
	s.replay(d.Story)
	page := draw.New(figures.Width)
	s.figure.Draw(page)
	page.Sentence(s.said) // no hint: nobody can try it there
	return page.Finish(s.Title, strings.TrimSpace(s.figure.Words()+" "+s.said))
}
