// Package draw lays the figures of the book out: a page of some width, which is filled from top to bottom with
// headings, chips and sentences. It draws with package internal/figures, so that a figure looks like the other
// pictures of the chapters.
//
// A page has two widths: that of a chapter's column, and that of a telephone. A figure asks for Narrow where the
// two need another layout.
package draw

import (
	_ "embed"
	"strings"

	"github.com/loopwright/loopwright/internal/figures"
)

// Rules are those for classes that package internal/figures does not have, light and dark.
//
//go:embed draw.css
var Rules string

// The two widths.
const (
	Wide  = figures.Width
	Phone = 360
)

// Margin is what is left free at the sides of a page.
const Margin = 16

// Page is a picture that grows downwards.
type Page struct {
	*figures.Canvas
	Width float64
	Y     float64 // where the next thing begins
}

// New returns an empty page.
func New(width float64) *Page {
	return &Page{Canvas: figures.New(0, "", ""), Width: width, Y: Margin}
}

// Narrow is true on a telephone.
func (p *Page) Narrow() bool { return p.Width < 500 }

// Inner is the room between the margins.
func (p *Page) Inner() float64 { return p.Width - 2*Margin }

// Finish is the picture with its title and description.
func (p *Page) Finish(title, words string) *figures.Canvas {
	c := p.Canvas
	c.Describe(title, words)
	c.Resize(int(p.Width), int(p.Y)+Margin)
	c.Style(Rules)
	return c
}

// Space leaves some room.
func (p *Page) Space(height float64) { p.Y += height }

// Heading writes a line above what follows, and something in a smaller type behind it, or below it where there is no
// room.
func (p *Page) Heading(text, more string) {
	p.Y += 15
	words := []figures.Word{{Class: "bold", Text: text}}
	var rest []string
	if WidthOf(text+" "+more, 15) <= p.Inner() {
		words = append(words, figures.Word{Class: "small dim", Text: more})
	} else {
		rest = Wrap(more, p.Inner(), 13)
	}
	p.Words("", Margin, p.Y, words...)
	for _, line := range rest {
		p.Y += 17
		p.Text("small dim", Margin, p.Y, line)
	}
	p.Y += 10
}

// Sentence writes a text of several lines, in a panel of its own.
func (p *Page) Sentence(text string) {
	lines := Wrap(text, p.Inner(), 15)
	if len(lines) == 0 {
		return
	}
	p.Y += 6
	height := float64(len(lines))*21 + 15
	p.Rect("panel", Margin/2, p.Y, p.Width-Margin, height, 8)
	for i, line := range lines {
		p.Text("", Margin, p.Y+24+float64(i)*21, line)
	}
	p.Y += height
}

// Paragraph writes lines in a smaller type.
func (p *Page) Paragraph(text string) {
	for _, line := range Wrap(text, p.Inner(), 13) {
		p.Y += 17
		p.Text("small dim", Margin, p.Y, line)
	}
	p.Y += 4
}

// Wrap breaks a text into lines of at most that width, in a type of that size. It does not know the font, so it
// leaves some room.
func Wrap(text string, width, size float64) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case WidthOf(line+" "+word, size) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// WidthOf is about how wide a text is in a type of that size.
func WidthOf(text string, size float64) float64 {
	width := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iIjl.,:;'|!()[] ", r):
			width += .32
		case strings.ContainsRune("mwMW@%", r):
			width += .86
		case r >= 'A' && r <= 'Z':
			width += .68
		default:
			width += .55
		}
	}
	return width * size
}

// CodeWidth is how wide a text is in the type of code, whose letters are all alike.
func CodeWidth(text string) float64 { return 8.5 * float64(len([]rune(text))) }
