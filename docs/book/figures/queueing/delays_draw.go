//go:build figures

package queueing

import (
	"time"

	"github.com/loopwright/loopwright/docs/book/figures/draw"
)

// The timeline shows some seconds before now, and all that can be asked for.
const (
	shownBefore = 4
	shownAfter  = 11
)

func (d *delays) Draw(p *draw.Page) {
	p.Heading("Alarms", "one for each item at most; now is second "+seconds(d.now))
	p.Panel(func() { d.drawTimeline(p) })
	p.Heading("The heap", "its first alarm is the one that the timer is set for")
	var heap, ready []draw.Chip
	for _, alarm := range d.cores.Alarms() {
		heap = append(heap, draw.Chip{Text: alarm.Item + " " + seconds(alarm.At) + "s", Class: tintOf(alarm.Item)})
	}
	p.Panel(func() { p.Row(draw.Margin, heap, "empty: there is no timer") })
	p.Heading("Queue", "ready for a worker")
	for _, item := range d.cores.Ready() {
		ready = append(ready, draw.Chip{Text: item, Class: tintOf(item)})
	}
	p.Panel(func() { p.Row(draw.Margin, ready, "empty") })
}

func (d *delays) drawTimeline(p *draw.Page) {
	const lane = 46.0
	left, right := draw.Margin+56.0, p.Width-draw.Margin-6
	second := (right - left) / (shownBefore + shownAfter)
	x := func(at time.Duration) float64 { return left + ((at-d.now).Seconds()+shownBefore)*second }
	top, bottom := p.Y+4, p.Y+4+lane*float64(len(items))
	p.Rect("empty", left, top, shownBefore*second, bottom-top, 0)
	for i := -shownBefore; i <= shownAfter; i++ {
		at := d.now + time.Duration(i)*time.Second
		if at < 0 {
			continue
		}
		p.Line("grid", x(at), top, x(at), bottom)
		if i == 0 || at%(5*time.Second) == 0 || !p.Narrow() && second > 30 {
			class := "small dim middle"
			if i == 0 {
				class = "small bold middle"
			}
			p.Text(class, x(at), bottom+17, seconds(at))
		}
	}
	p.Line("thick fill1", x(d.now), top-4, x(d.now), bottom)
	for i, item := range items {
		d.drawLane(p, item, top+lane*(float64(i)+.5), left, right, x)
	}
	p.Text("small dim end", right, bottom+34, "seconds")
	p.Squares("fill2", 9, draw.Margin, bottom+25)
	p.Text("small dim", draw.Margin+15, bottom+34, "an add")
	p.Rect("chip chosen", draw.Margin+72, bottom+23, 12, 12, 6)
	p.Text("small dim", draw.Margin+90, bottom+34, "its alarm")
	p.Text("small bold good", draw.Margin+162, bottom+34, "✓")
	p.Text("small dim", draw.Margin+178, bottom+34, "done")
	p.Y = bottom + 34
}

// drawLane draws what happened to an item, and its alarm.
func (d *delays) drawLane(p *draw.Page, item string, y, left, right float64, x func(time.Duration) float64) {
	p.Text("bold", draw.Margin, y+5, item)
	p.Line("grid", left, y, right, y)
	for _, m := range d.past {
		if m.item != item || x(m.at) < left {
			continue
		}
		switch m.what {
		case "off", "added":
			p.Squares("fill2", 9, x(m.at)-4.5, y-4.5)
		case "done":
			p.Text("bold good middle", x(m.at), y+16, "✓")
		}
	}
	if d.asked.item == item && x(d.asked.at) <= right+1 {
		what := "later"
		if d.gone {
			what = "gone"
		}
		p.Rect("chip ghost", x(d.asked.at)-8, y-8, 16, 16, 8)
		p.Text("small dim middle", x(d.asked.at), y-11, what)
	}
	if at := d.due(item); at != 0 {
		p.Line("thick dashed", x(d.now), y, x(at)-9, y)
		p.Rect("chip "+tintOf(item)+" chosen", x(at)-8, y-8, 16, 16, 8)
	}
}
