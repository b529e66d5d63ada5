//go:build figures

package controllers

import (
	"strconv"

	"github.com/loopwright/loopwright/docs/book/figures/draw"
)

// shownRows is how much of the story a page has room for. There is always room for reservedRows, through which the
// limits are drawn, so that the controls stay where they are while a reader steps.
const (
	shownRows    = 12
	reservedRows = 9
)

func (r *rollout) Draw(p *draw.Page) {
	p.Heading("Pods", "desired: "+strconv.Itoa(r.limits.Desired))
	top := p.Y
	rows := r.rows[max(0, len(r.rows)-shownRows):]
	left, room := draw.Margin+112.0, p.Width-2*draw.Margin-112-118
	if p.Narrow() {
		left, room = draw.Margin+100, p.Inner()-100
	}
	pitch := min(22, room/float64(max(r.most(), r.replicas)))
	for _, s := range rows {
		total, _ := s.total()
		pitch = min(pitch, room/float64(max(total, 1)))
	}
	p.Y += 22
	for i, s := range rows {
		r.drawRow(p, s, left, pitch, i == len(rows)-1)
	}
	p.Y += 26 * float64(max(0, reservedRows-len(rows)))
	r.drawLimits(p, left, pitch, top)
	p.Y += 10
	r.drawLegend(p)
}

func (r *rollout) drawRow(p *draw.Page, s row, left, pitch float64, last bool) {
	class := "small dim"
	if last {
		class = "small bold"
	}
	p.Text(class, draw.Margin, p.Y+17, s.what)
	x, size := left, pitch-3
	put := func(n int, class string) {
		for range n {
			p.Rect("chip "+class, x+1.5, p.Y+12-size/2, size, size, 2)
			x += pitch
		}
	}
	for i, old := range s.oldSets {
		put(old.Available, oldTint(i))
	}
	put(s.newSet.Available, newTint(len(s.oldSets)))
	for i, old := range s.oldSets {
		put(old.Wanted-old.Available, oldTint(i)+" idle")
	}
	put(s.newSet.Wanted-s.newSet.Available, newTint(len(s.oldSets))+" idle")
	if !p.Narrow() {
		total, serving := s.total()
		p.Text(class+" end", p.Width-draw.Margin, p.Y+17, strconv.Itoa(total)+" there, "+strconv.Itoa(serving)+" serve")
	}
	p.Y += 26
}

// Each template has a colour, in the order of their age.
var templateTints = []string{"quiet", "tint1", "tint2", "tint3", "tint4"}

func oldTint(i int) string       { return templateTints[i] }
func newTint(oldSets int) string { return templateTints[oldSets] }

func (r *rollout) drawLimits(p *draw.Page, left, pitch, top float64) {
	for _, limit := range []struct {
		at   int
		text string
		end  bool
	}{{r.least(), "least that serve", true}, {r.most(), "most", false}} {
		x := left + float64(limit.at)*pitch
		p.Line("limit", x, top+18, x, p.Y)
		switch {
		case limit.end && x > left+110:
			p.Text("small bad end", x-4, top+14, limit.text+" "+strconv.Itoa(limit.at))
		case limit.end:
			p.Text("small bad", left, top+14, "least "+strconv.Itoa(limit.at))
		default:
			p.Text("small bad end", x+2, top+14, limit.text+" "+strconv.Itoa(limit.at))
		}
	}
}

func (r *rollout) drawLegend(p *draw.Page) {
	at := p.Y
	x := float64(draw.Margin)
	entry := func(class, text string) {
		width := 20 + draw.WidthOf(text, 13) + 16
		if x+width > p.Width-draw.Margin+14 {
			x, at = draw.Margin, at+22
		}
		p.Rect("chip "+class, x, at+1, 14, 14, 2)
		p.Text("small", x+20, at+13, text)
		x += width
	}
	if newest := len(r.oldSets); newest == 1 {
		entry(oldTint(0), "old, serves")
		entry(newTint(1), "new, serves")
	} else {
		for i, name := range []string{"first template", "second", "third", "fourth", "fifth"}[:newest] {
			entry(oldTint(i), name)
		}
		entry(newTint(newest), "new")
	}
	entry(newTint(len(r.oldSets))+" idle", "does not serve")
	p.Y = at + 20
}
