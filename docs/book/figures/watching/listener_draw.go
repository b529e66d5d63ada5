//go:build figures

package watching

import (
	"strings"

	"github.com/loopwright/loopwright/docs/book/figures/draw"
	"github.com/loopwright/loopwright/informer"
)

// tints are the colours of objects. Of one name, an object has another colour than the one before it.
var tints = map[string][2]string{"web": {"tint1", "tint2"}, "db": {"tint3", "tint4"}}

func chipOf(t *informer.Thing) draw.Chip {
	return draw.Chip{Text: wordOf(t), Class: tints[t.Name][strings.Count(t.UID, "'")%2]}
}

func (l *listener) Draw(p *draw.Page) {
	p.Heading("The informer", "deltas while the handler sleeps; each is in the store already")
	p.Panel(func() { l.drawDeltas(p) })
	what := "one entry for each delta"
	if l.coalesces {
		what = "one entry for each key with news"
	}
	p.Heading("The backlog", what)
	p.Panel(func() { l.drawBacklog(p) })
	p.Heading("The handler", "what it was told when it was awake the last time")
	p.Panel(func() { l.drawTold(p) })
	p.Paragraph("web 4 is the object web with resourceVersion 4. web' is another object of that name: the first one was deleted.")
}

func (l *listener) drawDeltas(p *draw.Page) {
	if len(l.deltas) == 0 {
		p.Row(draw.Margin, nil, "nothing has happened since")
		return
	}
	var chips []draw.Chip
	room := 0.0
	for _, delta := range l.deltas {
		chip := chipOf(delta.Object)
		chip.Mark = delta.Type.String()
		chips = append(chips, chip)
		room = max(room, draw.ChipWidth(chip.Text)+12)
	}
	p.Wide(draw.Margin, room, chips)
}

// drawBacklog has a line for each entry: what it keeps on the left, and on the right, or below it where there is no
// room, what will be told.
func (l *listener) drawBacklog(p *draw.Page) {
	pending := l.backlog.Pending()
	if len(pending) == 0 {
		p.Row(draw.Margin, nil, "empty")
		return
	}
	split, below := p.Width*.5, 0.0
	if p.Narrow() {
		split, below = draw.Margin, draw.ChipHeight+18
		p.Text("small dim", draw.Margin, p.Y+12, "what it keeps, and what will be told")
	} else {
		p.Text("small dim", draw.Margin, p.Y+12, "what it keeps")
		p.Text("small dim", split, p.Y+12, "what will be told")
	}
	p.Y += 18
	for i, one := range pending {
		if i > 0 {
			p.Line("grid", draw.Margin, p.Y+1, p.Width-draw.Margin, p.Y+1)
			p.Y += 6
		}
		top := p.Y
		x := float64(draw.Margin)
		for _, kept := range []struct {
			name  string
			thing *informer.Thing
		}{{"old", one.Old}, {"last", one.Last}, {"now", one.Now}} {
			chip := draw.Chip{Text: "  ", Class: "ghost", Mark: kept.name}
			if kept.thing != nil {
				chip = chipOf(kept.thing)
				chip.Mark = kept.name
			}
			x += max(p.Chip(x, top, chip), 44) + 12
		}
		for n, call := range one.Calls {
			p.Text("code", split, top+below+19+float64(n)*22, callInWords(call))
		}
		p.Y = top + max(draw.ChipHeight+20, below+float64(len(one.Calls))*22+8)
	}
}

func (l *listener) drawTold(p *draw.Page) {
	if len(l.told) == 0 {
		p.Row(draw.Margin, nil, "nothing yet")
		return
	}
	columns, x := 1, float64(draw.Margin)
	if !p.Narrow() {
		columns = 2
	}
	for i, call := range l.told {
		if i > 0 && i%columns == 0 {
			p.Y += 22
		}
		p.Text("code", x+float64(i%columns)*p.Inner()/float64(columns), p.Y+17, call)
	}
	p.Y += 24
}
