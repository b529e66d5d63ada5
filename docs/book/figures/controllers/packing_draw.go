//go:build figures

package controllers

import (
	"strconv"

	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/docs/book/figures/draw"
)

// subsetTints are the colours of subsets, and of the columns that they are made of.
var subsetTints = []string{"tint1", "tint2", "tint3", "tint4"}

func (k *packing) Draw(p *draw.Page) {
	p.Heading("The Pods", "in the order in which the controller lists them")
	p.Panel(func() { k.drawServers(p) })
	p.Heading("The table", "a column for each port; a row for each address")
	p.Panel(func() { k.drawTable(p) })
	p.Heading("The subsets", "columns that look the same share one")
	p.Panel(func() { k.drawSubsets(p) })
}

func (k *packing) drawServers(p *draw.Page) {
	for _, s := range k.servers {
		class := "quiet"
		if s.name == k.chosen {
			class += " chosen"
		}
		p.Chip(draw.Margin, p.Y, draw.Chip{Text: s.name, Class: class})
		ports := "http " + s.http + ", metrics " + s.metrics
		if p.Narrow() {
			p.Text("small", draw.Margin+76, p.Y+12, s.ip+", "+s.state)
			p.Text("small dim", draw.Margin+76, p.Y+28, ports)
		} else {
			p.Text("", draw.Margin+86, p.Y+20, s.ip)
			p.Text("", draw.Margin+180, p.Y+20, s.state)
			p.Text("dim", draw.Margin+300, p.Y+20, ports)
		}
		p.Y += draw.ChipHeight + 6
	}
	p.Y -= 6
}

// tintOf is the colour of the subset that has a port.
func (k *packing) tintOf(column endpoints.Column) string {
	for i, s := range k.subsets() {
		for _, port := range s.Ports {
			if port.Name == column.Name && port.Port == column.Port {
				return subsetTints[i%len(subsetTints)]
			}
		}
	}
	return "quiet"
}

func (k *packing) drawTable(p *draw.Page) {
	ips, columns := endpoints.Table(k.service(), k.objects())
	if len(columns) == 0 {
		p.Row(draw.Margin, nil, "empty: no Pod is listed")
		return
	}
	left := draw.Margin + 80.0
	pitch := min(130, (p.Width-draw.Margin-left)/float64(len(columns)))
	head := 22.0
	if p.Narrow() {
		head = 36
	}
	for i, column := range columns {
		x := left + float64(i)*pitch
		p.Rect("chip "+k.tintOf(column), x+3, p.Y+head, pitch-6, float64(len(ips))*24+6, 6)
		if p.Narrow() {
			p.Text("small middle", x+pitch/2, p.Y+13, column.Name)
			p.Text("small middle", x+pitch/2, p.Y+29, "="+strconv.Itoa(int(column.Port)))
		} else {
			p.Text("code middle", x+pitch/2, p.Y+14, portOf(column.Name, column.Port))
		}
	}
	p.Y += head
	for _, ip := range ips {
		p.Text("", draw.Margin, p.Y+20, ip)
		for i, column := range columns {
			if ready, listed := column.Seats[ip]; listed {
				word, class := "ready", "middle"
				if !ready {
					word, class = "not ready", "middle dim"
				}
				p.Text(class+" small", left+(float64(i)+.5)*pitch, p.Y+20, word)
			}
		}
		p.Y += 24
	}
	p.Y += 8
}

func (k *packing) drawSubsets(p *draw.Page) {
	all := k.subsets()
	if len(all) == 0 {
		p.Row(draw.Margin, nil, "none")
		return
	}
	for i, s := range all {
		who := "addresses: " + orNothing(k.names(s.Addresses, false))
		if waiting := k.names(s.NotReadyAddresses, false); waiting != "" {
			who += "; not ready: " + waiting
		}
		lines := draw.Wrap(who, p.Inner()-20, 15)
		height := 30 + float64(len(lines))*20
		p.Rect("chip "+subsetTints[i%len(subsetTints)], draw.Margin, p.Y, p.Inner(), height, 6)
		p.Text("code bold", draw.Margin+10, p.Y+20, portsInWords(s.Ports))
		for n, line := range lines {
			p.Text("", draw.Margin+10, p.Y+41+float64(n)*20, line)
		}
		p.Y += height + 6
	}
	p.Y -= 6
}

func orNothing(names string) string {
	if names == "" {
		return "none"
	}
	return names
}
