// Package figures draws the pictures of the chapters as SVG: shapes and text by
// coordinates, in one palette that has a light and a dark form. What a picture says
// comes from the code that it is about; package figurestest holds it to that.
//
// A picture is 640 wide and its text is 13 or more, so that it can be read in a column
// of 700 pixels, and on a telephone. Steps are narrower. The figures of the book that
// readers play with (docs/book/figures) have their own width on a telephone, and are part
// of the page.
package figures

import (
	_ "embed"
	"fmt"
	"strings"
)

// style is part of every picture. The colours are in classes, not in attributes,
// because only a style sheet can ask whether the page is dark.
//
//go:embed style.css
var style string

// Width is that of every picture in a chapter.
const Width = 640

// Canvas collects the shapes of a picture. Later ones cover earlier ones. A class is
// one or several of those in style.css.
type Canvas struct {
	width, height int
	title, desc   string
	extra         string // rules besides those of style.css
	body          strings.Builder
}

// New returns an empty canvas. Screen readers read the title and the description
// aloud, so the description says what somebody else sees.
func New(height int, title, desc string) *Canvas {
	return &Canvas{width: Width, height: height, title: title, desc: desc}
}

// Resize gives a canvas the size that what was drawn on it needs.
func (c *Canvas) Resize(width, height int) { c.width, c.height = width, height }

// Describe gives it another title and description.
func (c *Canvas) Describe(title, desc string) { c.title, c.desc = title, desc }

// Style adds rules to those of style.css, for classes that only this picture has.
func (c *Canvas) Style(rules string) { c.extra += rules }

// Style is the rules that every picture has, for a page that has pictures in it.
func Style() string { return style }

// Rect draws a rectangle with round corners.
func (c *Canvas) Rect(class string, x, y, width, height, radius float64) {
	c.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`,
		class, number(x), number(y), number(width), number(height), number(radius))
}

// Text writes a line of text whose base line begins at x, y. With the class "end" it
// ends there, and with "middle" it is centred there.
func (c *Canvas) Text(class string, x, y float64, text string) {
	c.add(`<text class="%s" x="%s" y="%s">%s</text>`, class, number(x), number(y), escape(text))
}

// Word is a part of a line that has a class of its own, or none.
type Word struct{ Class, Text string }

// Words writes a line, word by word, with a space between them.
func (c *Canvas) Words(class string, x, y float64, words ...Word) {
	var spans strings.Builder
	for i, word := range words {
		if i > 0 {
			spans.WriteByte(' ')
		}
		if word.Class == "" {
			spans.WriteString(escape(word.Text))
		} else {
			fmt.Fprintf(&spans, `<tspan class="%s">%s</tspan>`, word.Class, escape(word.Text))
		}
	}
	c.add(`<text class="%s" x="%s" y="%s">%s</text>`, class, number(x), number(y), spans.String())
}

// Line draws a line through the points, which are pairs of x and y.
func (c *Canvas) Line(class string, points ...float64) {
	c.add(`<path class="line %s" d="%s"/>`, class, through(points))
}

// Area fills what is between the points.
func (c *Canvas) Area(class string, points ...float64) {
	c.add(`<path class="%s" d="%sZ"/>`, class, through(points))
}

// Squares draws squares of one size whose upper left corners are the points.
func (c *Canvas) Squares(class string, size float64, corners ...float64) {
	var d strings.Builder
	for i := 0; i+1 < len(corners); i += 2 {
		fmt.Fprintf(&d, "M%s,%sh%sv%[3]sh-%[3]sz", number(corners[i]), number(corners[i+1]), number(size))
	}
	if d.Len() > 0 {
		c.add(`<path class="%s" d="%s"/>`, class, d.String())
	}
}

// Arrow draws a straight arrow from one point to another.
func (c *Canvas) Arrow(class string, x1, y1, x2, y2 float64) {
	c.add(`<path class="line %s" marker-end="url(#arrow)" d="%s"/>`, class, through([]float64{x1, y1, x2, y2}))
}

// Dot marks a point of a curve.
func (c *Canvas) Dot(class string, x, y float64) {
	c.add(`<circle class="%s" cx="%s" cy="%s" r="4"/>`, class, number(x), number(y))
}

// String is the picture. It paints its own background: a page can be dark in a browser
// that prefers light, and the other way round, and then text without a background
// could not be read.
func (c *Canvas) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n",
		c.width, c.height, c.width, c.height)
	fmt.Fprintf(&out, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", escape(c.title), escape(c.desc))
	fmt.Fprintf(&out, "<style>\n%s%s</style>\n", style, c.extra)
	out.WriteString(arrowHead + "\n")
	fmt.Fprintf(&out, `<rect class="background" width="%d" height="%d" rx="8"/>`+"\n", c.width, c.height)
	out.WriteString(c.body.String())
	out.WriteString("</svg>\n")
	return out.String()
}

// Inline is the picture as a part of a page, which has the style sheet and the background.
func (c *Canvas) Inline() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`+arrowHead+"\n%s</svg>",
		c.width, c.height, escape(c.title+". "+c.desc), c.body.String())
}

const arrowHead = `<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0,0L8,4L0,8Z"/></marker></defs>`

func (c *Canvas) add(format string, args ...any) {
	fmt.Fprintf(&c.body, format+"\n", args...)
}

func through(points []float64) string {
	var d strings.Builder
	for i := 0; i+1 < len(points); i += 2 {
		command := "L"
		if i == 0 {
			command = "M"
		}
		d.WriteString(command + number(points[i]) + "," + number(points[i+1]))
	}
	return d.String()
}

// number has one digit after the point, so that a picture is the same on processors
// that round differently.
func number(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

// escape makes text safe in XML, between tags and in attributes. encoding/xml does the same, and would
// be a tenth of a figure's WebAssembly.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace
