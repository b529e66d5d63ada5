package pages

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// rendering writes one page. Its methods are what differs from plain HTML; the
// rest is goldmark's.
type rendering struct {
	site  *Site
	page  *page
	found problems

	snippets int  // so far
	stubbed  bool // whether the exercise's stub has been shown
}

// text is the page's HTML, without the frame.
func (s *Site) text(p *page) (string, problems) {
	r := &rendering{site: s, page: p}
	ours := goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(r, 1)))
	var out bytes.Buffer
	if err := markdown(ours).Renderer().Render(&out, p.body, p.doc); err != nil {
		r.found.add("%s: %v", p.file, err)
	}
	if p.exercise != nil && !r.stubbed {
		r.stub(&out)
	}
	if p.chapter != nil {
		end, err := s.chapterEnd(p)
		if err != nil {
			r.found.add("%s: %v", p.file, err)
		}
		out.WriteString(end)
	}
	if len(p.originals) > 0 {
		end, err := originalsEnd(p)
		if err != nil {
			r.found.add("%s: %v", p.file, err)
		}
		out.WriteString(end)
	}
	return out.String(), r.found
}

func (r *rendering) problem(node ast.Node, err error) {
	r.found.add("%s:%d: %v", r.page.file, r.page.line(node), err)
}

// RegisterFuncs says what is written here and not by goldmark.
func (r *rendering) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	for kind, write := range map[ast.NodeKind]func(w util.BufWriter, node ast.Node, entering bool) ast.WalkStatus{
		ast.KindHeading:         r.heading,
		ast.KindParagraph:       r.paragraph,
		ast.KindLink:            r.link,
		ast.KindImage:           r.image,
		ast.KindFencedCodeBlock: r.code,
		ast.KindHTMLBlock:       r.raw,
		ast.KindRawHTML:         r.raw,
		kindTerm:                r.term,
		kindMeaning:             r.meaning,
	} {
		to.Register(kind, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
			return write(w, node, entering), nil
		})
	}
}

// heading writes what VitePress writes for one: its outline and its search look for that.
func (r *rendering) heading(w util.BufWriter, node ast.Node, entering bool) ast.WalkStatus {
	heading := node.(*ast.Heading)
	if r.page.file == home && heading.Level == 1 {
		return ast.WalkSkipChildren // the start page has a larger one
	}
	id := r.id(heading)
	if entering {
		fmt.Fprintf(w, `<h%d id="%s" tabindex="-1">`, heading.Level, id)
		return ast.WalkContinue
	}
	fmt.Fprintf(w, ` <a class="header-anchor" href="#%s" aria-label="Permalink to &quot;%s&quot;">&#8203;</a></h%d>`+"\n",
		id, html.EscapeString(plain(heading, r.page.body)), heading.Level)
	if heading.Level == 1 {
		_, _ = w.WriteString(r.site.facts(r.page, r))
	}
	return ast.WalkContinue
}

func (r *rendering) id(heading *ast.Heading) string {
	id, _ := heading.AttributeString("id")
	return html.EscapeString(string(id.([]byte)))
}

// stub comes after the task, before the first hint.
func (r *rendering) stub(w io.StringWriter) {
	text, err := r.site.stub(r.page)
	if err != nil {
		r.found.add("%s: %v", r.page.file, err)
	}
	_, _ = w.WriteString(text)
	r.stubbed = true
}

// paragraph leaves out what has only pictures from other sites: badges say how the
// project is today, and a book may be read without a network.
func (r *rendering) paragraph(w util.BufWriter, node ast.Node, entering bool) ast.WalkStatus {
	if r.onlyBadges(node) {
		return ast.WalkSkipChildren
	}
	if figure, ok := marked(node, figureMarker); ok {
		return r.figure(w, node, figure["name"], entering)
	}
	if size, ok := node.AttributeString(playgroundMarker); ok {
		return r.cluster(w, node, size.(string), entering)
	}
	if entering {
		_, _ = w.WriteString("<p>")
	} else {
		_, _ = w.WriteString("</p>\n")
	}
	return ast.WalkContinue
}

func (r *rendering) onlyBadges(paragraph ast.Node) bool {
	badges := 0
	for node := paragraph.FirstChild(); node != nil; node = node.NextSibling() {
		inner := node
		if link, ok := node.(*ast.Link); ok && link.ChildCount() == 1 {
			inner = link.FirstChild()
		}
		switch inner := inner.(type) {
		case *ast.Image:
			if !isElsewhere(string(inner.Destination)) {
				return false
			}
			badges++
		case *ast.Text:
			if strings.TrimSpace(string(inner.Segment.Value(r.page.body))) != "" {
				return false
			}
		default:
			return false
		}
	}
	return badges > 0
}

// figure is a picture that a script can bring to life; see figures/ in this module.
func (r *rendering) figure(w util.BufWriter, node ast.Node, name string, entering bool) ast.WalkStatus {
	if !entering {
		_, _ = w.WriteString("</loop-figure>\n")
		return ast.WalkContinue
	}
	if node.ChildCount() != 1 || node.FirstChild().Kind() != ast.KindImage || name == "" {
		r.problem(node, fmt.Errorf("a figure is the marker <!-- figure name=... --> and, below it, one picture and nothing else"))
	}
	fmt.Fprintf(w, `<loop-figure name="%s">`, html.EscapeString(name))
	return ast.WalkContinue
}

func (r *rendering) link(w util.BufWriter, node ast.Node, entering bool) ast.WalkStatus {
	if !entering {
		_, _ = w.WriteString("</a>")
		return ast.WalkContinue
	}
	link := node.(*ast.Link)
	to, err := r.site.resolve(r.page, string(link.Destination))
	if err != nil {
		r.problem(node, err)
	}
	_, _ = w.WriteString(to.open(string(link.Title)))
	return ast.WalkContinue
}

// open is the tag of a link.
func (t target) open(title string) string {
	attributes := ""
	if title != "" {
		attributes = fmt.Sprintf(` title="%s"`, html.EscapeString(title))
	}
	switch {
	case t.external:
		attributes += ` target="_blank" rel="noreferrer"`
	case t.file:
		attributes += ` target="_self"`
	}
	return fmt.Sprintf(`<a href="%s"%s>`, html.EscapeString(t.href), attributes)
}

func (r *rendering) image(w util.BufWriter, node ast.Node, entering bool) ast.WalkStatus {
	if !entering {
		return ast.WalkContinue
	}
	image := node.(*ast.Image)
	if isElsewhere(string(image.Destination)) {
		r.problem(node, fmt.Errorf("the picture %s is on another site, and the book must work without a network: put it next to the text", image.Destination))
	}
	to, err := r.site.resolve(r.page, string(image.Destination))
	if err != nil {
		r.problem(node, err)
	}
	if _, is := node.Parent().AttributeString(playgroundMarker); is {
		to.href = stillOf(to.href)
	}
	fmt.Fprintf(w, `<img src="%s" alt="%s">`, html.EscapeString(to.href), html.EscapeString(alternative(image, r.page.body)))
	return ast.WalkSkipChildren
}

func alternative(image *ast.Image, source []byte) string {
	var out strings.Builder
	for child := image.FirstChild(); child != nil; child = child.NextSibling() {
		out.WriteString(plain(child, source))
	}
	return out.String()
}

// raw writes the tags that a text may use, and drops comments.
func (r *rendering) raw(w util.BufWriter, node ast.Node, entering bool) ast.WalkStatus {
	if !entering {
		return ast.WalkContinue
	}
	text := rawText(node, r.page.body)
	if _, is := comment(text); !is {
		if r.page.exercise != nil && !r.stubbed && isHint(text) {
			r.stub(w)
		}
		r.offerRun(w, node, text)
		_, _ = w.WriteString(text)
	}
	return ast.WalkSkipChildren
}

// isHint reports whether a fold of an exercise begins.
func isHint(raw string) bool { return strings.Contains(raw, "<summary>Hint ") }

func isElsewhere(address string) bool { return strings.Contains(address, "://") }
