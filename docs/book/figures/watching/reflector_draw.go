//go:build figures

package watching

import (
	"strconv"

	"github.com/loopwright/loopwright/docs/book/figures/draw"
	"github.com/loopwright/loopwright/informer"
)

// states are those of the machine from the first to the best. Waiting is beside them all.
var states = []string{"idle", "streaming", "listing", "polling", "connecting", "watching"}

// The map of the states.
const (
	boxHeight = 30.0
	boxPitch  = 42.0
	boxWidth  = 112.0
	boxLeft   = draw.Margin + 26.0
	waitLeft  = boxLeft + boxWidth + 40
	waitWidth = 84.0
)

func (r *reflector) Draw(p *draw.Page) {
	p.Heading("The machine", "at "+clock(r.machine))
	top := p.Y + 4
	r.drawStates(p, top)
	bottom := top + boxPitch*float64(len(states))
	if p.Narrow() {
		p.Y = bottom + 4
		r.drawMemory(p, draw.Margin)
	} else {
		p.Y = top
		r.drawMemory(p, waitLeft+waitWidth+36)
		p.Y = max(p.Y, bottom)
	}
	r.drawSteps(p)
}

func clock(m *informer.Machine) string {
	seconds := int(m.At().Seconds())
	return strconv.Itoa(seconds/60) + " min " + strconv.Itoa(seconds%60) + " s"
}

func (r *reflector) drawStates(p *draw.Page, top float64) {
	now := r.machine.Memory().State
	middle := func(state string) (y float64, found bool) {
		for i, name := range states {
			if name == state {
				return top + float64(i)*boxPitch + boxHeight/2, true
			}
		}
		return 0, false
	}
	box := func(state string, x, y, width, height float64) {
		if state == now {
			p.Rect("chip tint1 chosen", x, y, width, height, 6)
			p.Text("bold middle", x+width/2, y+height/2+5, state)
			return
		}
		p.Rect("box", x, y, width, height, 6)
		p.Text("middle", x+width/2, y+height/2+5, state)
	}
	for i, state := range states {
		box(state, boxLeft, top+float64(i)*boxPitch, boxWidth, boxHeight)
	}
	height := boxPitch*float64(len(states)) - (boxPitch - boxHeight)
	box("waiting", waitLeft, top+boxPitch, waitWidth, height-boxPitch)
	if r.from == "" {
		return
	}
	from, fromBox := middle(r.from)
	to, toBox := middle(now)
	switch {
	case !fromBox && !toBox: // it goes on waiting
	case !toBox:
		p.Arrow("thick fill2", boxLeft+boxWidth+1, from, waitLeft-1, from)
	case !fromBox:
		p.Arrow("thick fill2", waitLeft-1, to, boxLeft+boxWidth+1, to)
	case from == to: // a loop at its side
		p.Line("thick fill2", boxLeft-1, from-8, boxLeft-16, from-8, boxLeft-16, from+8, boxLeft-8, from+8)
		p.Arrow("thick fill2", boxLeft-8, from+8, boxLeft-1, from+8)
	default:
		p.Line("thick fill2", boxLeft-1, from, boxLeft-20, from, boxLeft-20, to, boxLeft-8, to)
		p.Arrow("thick fill2", boxLeft-10, to, boxLeft-1, to)
	}
}

// drawMemory draws what the machine remembers, from x to the right margin.
func (r *reflector) drawMemory(p *draw.Page, x float64) {
	m := r.machine.Memory()
	value := x + 132
	line := func(name, text, class string) {
		p.Y += 23
		p.Text("dim", x, p.Y, name)
		p.Text(class, value, p.Y, text)
	}
	p.Y -= 4
	cursor, class := m.Cursor, "code bold"
	if cursor == "" {
		cursor, class = "empty: a new view", "bold bad"
		if m.State == "idle" || m.State == "polling" {
			class = "dim"
		}
	}
	line("cursor", cursor, class)
	line("floor", orNone(m.Floor), "code")
	pause := "none"
	if r.last.Do == "pause" {
		pause = pauseInWords(r.last.Pause)
	}
	line("pause", pause, "")
	how := "a stream"
	switch {
	case m.Polls:
		how = "polled lists"
	case !m.Streams || m.Counters[0].N >= informer.Tries:
		how = "a list"
	}
	if m.Newest {
		how += ", the newest"
	}
	line("next view by", how, "")
	p.Y += 10
	for _, counter := range m.Counters {
		p.Y += 22
		p.Text("dim", x, p.Y, counter.Name)
		p.Dots(value+6, p.Y-5, counter.N, informer.Tries)
	}
	p.Y += 8
}

// drawSteps draws the last part of the story.
func (r *reflector) drawSteps(p *draw.Page) {
	p.Heading("What happened, and what it decided", "")
	shown := r.steps[max(0, len(r.steps)-4):]
	p.Panel(func() {
		if len(shown) == 0 {
			p.Row(draw.Margin, nil, "nothing yet")
		}
		for i, step := range shown {
			class := "small dim"
			if i == len(shown)-1 {
				class = "small"
			}
			r.drawStep(p, step, class)
		}
	})
}

func (r *reflector) drawStep(p *draw.Page, s step, class string) {
	if p.Narrow() {
		for _, line := range draw.Wrap(s.happened+" → "+s.decided, p.Inner(), 13) {
			p.Y += 17
			p.Text(class, draw.Margin, p.Y, line)
		}
		p.Y += 6
		return
	}
	half := p.Inner() * .46
	happened, decided := draw.Wrap(s.happened, half-16, 13), draw.Wrap(s.decided, p.Inner()-half, 13)
	for i := range max(len(happened), len(decided)) {
		p.Y += 17
		if i < len(happened) {
			p.Text(class, draw.Margin, p.Y, happened[i])
		}
		if i < len(decided) {
			p.Text(class, draw.Margin+half, p.Y, decided[i])
		}
	}
	p.Y += 6
}
