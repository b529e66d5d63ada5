package draw

// Chip is a thing with a name: an item, a Pod, a version.
type Chip struct {
	Text  string
	Class string // tint1 to tint4, or quiet; and "ghost" for what is not there
	Mark  string // what is written below it, in small letters
}

// ChipHeight is that of all chips.
const ChipHeight = 30

// ChipWidth is how wide a chip is.
func ChipWidth(text string) float64 { return max(CodeWidth(text)+20, 34) }

// Chip draws one at x, y, and returns its width.
func (p *Page) Chip(x, y float64, chip Chip) float64 {
	width := ChipWidth(chip.Text)
	p.Rect("chip "+chip.Class, x, y, width, ChipHeight, 6)
	p.Text("code middle", x+width/2, y+20, chip.Text)
	if chip.Mark != "" {
		p.Text("small dim middle", x+width/2, y+ChipHeight+15, chip.Mark)
	}
	return width
}

// Row draws chips from left to right, in as many lines as they need between x and the right margin, and moves on
// below them. If there are none, it writes what none means.
func (p *Page) Row(x float64, chips []Chip, none string) {
	if len(chips) == 0 {
		p.Text("dim", x, p.Y+20, none)
		p.Y += ChipHeight
		return
	}
	at, line := x, float64(ChipHeight)
	for _, chip := range chips {
		if chip.Mark != "" {
			line = ChipHeight + 18
		}
	}
	for _, chip := range chips {
		if width := ChipWidth(chip.Text); at+width > p.Width-Margin && at > x {
			at = x
			p.Y += line + 6
		}
		at += p.Chip(at, p.Y, chip) + 8
	}
	p.Y += line
}

// Wide is Row with as much room for each chip as its mark needs, at least.
func (p *Page) Wide(x, room float64, chips []Chip) {
	at := x
	for _, chip := range chips {
		if at+room > p.Width-Margin+8 {
			at = x
			p.Y += ChipHeight + 24
		}
		p.Chip(at+(room-8-ChipWidth(chip.Text))/2, p.Y, chip)
		at += room
	}
	p.Y += ChipHeight + 18
}

// Panel draws a panel behind what a function draws in it. It is drawn after what it contains is measured, so the
// function is called twice: it must only draw.
func (p *Page) Panel(inner func()) {
	top := p.Y
	probe := &Page{Canvas: New(p.Width).Canvas, Width: p.Width, Y: top + 8}
	saved := *p
	*p = *probe
	inner()
	bottom := p.Y + 10
	*p = saved
	p.Rect("panel", Margin/2, top, p.Width-Margin, bottom-top, 8)
	p.Y = top + 8
	inner()
	p.Y = bottom + 8
}

// Dots draws a counter: this many of that many are filled.
func (p *Page) Dots(x, y float64, filled, of int) {
	for i := range of {
		class := "hollow"
		if i < filled {
			class = "filled"
		}
		p.Dot(class, x+float64(i)*14, y)
	}
}
