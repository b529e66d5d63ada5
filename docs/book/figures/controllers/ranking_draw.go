//go:build figures

package controllers

import (
	"strconv"

	"github.com/loopwright/loopwright/docs/book/figures/draw"
)

func (r *ranking) Draw(p *draw.Page) {
	p.Heading("Who goes first", strconv.Itoa(r.n)+" of "+strconv.Itoa(len(r.pods))+" have to go")
	places := r.places()
	columns := []float64{0, 40, 118, 172, 252, 326, 388, 452, 530}
	if !p.Narrow() {
		p.Y += 8
		for i, head := range []string{"", "Pod", "node", "phase", "ready for", "cost", "crowd", "restarts", "age"} {
			p.Text("small dim", draw.Margin+columns[i], p.Y+8, head)
		}
		p.Y += 16
	}
	for i, one := range places {
		last := i+1 == len(places)
		r.drawPlace(p, i, one, columns)
		why := ""
		if !last {
			why = "goes before the next because " + reason(one.rule, one, places[i+1])
			if p.Narrow() {
				why = reason(one.rule, one, places[i+1])
			}
		}
		for _, line := range draw.Wrap(why, p.Inner()-40, 13) {
			p.Text("small dim", draw.Margin+40, p.Y+13, "↓ "+line)
			p.Y += 18
		}
		p.Y += 4
		if i+1 == r.n {
			p.Line("limit", draw.Margin, p.Y, p.Width-draw.Margin, p.Y)
			p.Text("small bad end", p.Width-draw.Margin, p.Y-5, "these go ↑")
			p.Text("small bad end", p.Width-draw.Margin, p.Y+15, "these stay ↓")
			p.Y += 20
		}
	}
}

func (r *ranking) drawPlace(p *draw.Page, i int, one place, columns []float64) {
	class := "tint3"
	if one.goes {
		class = "tint2"
	}
	if one.pod.name == r.chosen {
		class += " chosen"
	}
	p.Text("dim", draw.Margin+8, p.Y+20, strconv.Itoa(i+1))
	p.Chip(draw.Margin+columns[1], p.Y, draw.Chip{Text: one.pod.name, Class: class})
	node := one.pod.node
	if node == "" {
		node = "none"
	}
	crowd := strconv.Itoa(one.crowd)
	if p.Narrow() {
		p.Text("small", draw.Margin+118, p.Y+12, "node "+node+" ("+crowd+"), "+one.pod.phase+", ready "+one.pod.ready)
		p.Text("small", draw.Margin+118, p.Y+28, "cost "+one.pod.cost+", restarts "+one.pod.restarts+", age "+one.pod.age)
		p.Y += draw.ChipHeight + 2
		return
	}
	for n, text := range []string{node, one.pod.phase, one.pod.ready, one.pod.cost, crowd, one.pod.restarts, one.pod.age} {
		p.Text("", draw.Margin+columns[n+2], p.Y+20, text)
	}
	p.Y += draw.ChipHeight
}
