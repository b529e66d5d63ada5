package pages

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/loopwright/loopwright/internal/course"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// page is one Markdown file and what it becomes.
type page struct {
	file string // "chapters/01-list-watch/README.md", from the root
	out  string // "chapters/01-list-watch/index.html", in the book
	body []byte

	doc         ast.Node
	title       string            // the text of its first heading
	about       string            // its first sentence
	description string            // its first sentences, for search engines and cards
	ids         map[string]bool   // where a link may lead
	named       map[string]string // the id of the first heading with a text
	taken       slugs

	chapter  *course.Chapter  // of a chapter's text, or nil
	exercise *course.Exercise // of an exercise's, or nil

	originals []course.Upstream // of a text about the library
}

// home is the text that greets people on GitHub, and here.
const home = "README.md"

// porting is where a reader begins who has an operator already.
const porting = "docs/porting.md"

// outOf says which page a Markdown file becomes. A README is the page of its directory.
func outOf(file string) string {
	if path.Base(file) == "README.md" {
		return path.Join(path.Dir(file), "index.html")
	}
	return strings.TrimSuffix(file, ".md") + ".html"
}

// url is the page's address below the base, as VitePress writes it: "chapters/01-list-watch/".
func (p *page) url() string {
	if dir, ok := strings.CutSuffix(p.out, "index.html"); ok {
		return dir
	}
	return strings.TrimSuffix(p.out, ".html")
}

// markdown is GitHub's dialect.
func markdown(options ...goldmark.Option) goldmark.Markdown {
	return goldmark.New(append(options, goldmark.WithExtensions(extension.GFM))...)
}

// wideTable is the number of columns from which a phone cannot show a table at once: its first column stays in
// sight while the others are scrolled.
const wideTable = 6

// newPage parses a text and finds all that links can lead to.
func newPage(file, body string) (*page, problems) {
	p := &page{file: file, out: outOf(file), body: []byte(body), ids: map[string]bool{}, named: map[string]string{}, taken: slugs{}}
	p.doc = markdown().Parser().Parse(text.NewReader(p.body), parser.WithContext(parser.NewContext()))
	var found problems
	_ = ast.Walk(p.doc, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if table, ok := node.(*tables.Table); ok && len(table.Alignments) >= wideTable {
			table.SetAttributeString("class", []byte("wide"))
		}
		if heading, ok := node.(*ast.Heading); ok && entering {
			name := plain(heading, p.body)
			id := p.taken.next(name)
			heading.SetAttributeString("id", []byte(id))
			p.ids[id] = true
			if p.named[name] == "" {
				p.named[name] = id
			}
			if p.title == "" && heading.Level == 1 {
				p.title = name
			}
		}
		return ast.WalkContinue, nil
	})
	if p.title == "" {
		found.add("%s: a page needs a title: begin the text with a heading, as in \"# Architecture\"", file)
	}
	found = append(found, p.checkTags()...)
	p.readMarkers()
	p.about, p.description = p.firstSentence(), p.summary()
	switch file {
	case home:
		p.cutFirstSentence() // the start page says it in its upper half
	case glossary:
		p.nameTerms()
	}
	return p, found
}

// line is the number of the line in the file where a node stands, for errors.
func (p *page) line(node ast.Node) int {
	at := -1
	for n := node; n != nil && at < 0; n = n.Parent() {
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			at = n.Lines().At(0).Start
		}
	}
	// A paragraph has many lines; the first text inside the node says which.
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			at = n.Segment.Start
			return ast.WalkStop, nil
		case *ast.RawHTML:
			at = n.Segments.At(0).Start
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return 1 + bytes.Count(p.body[:max(at, 0)], []byte("\n"))
}

// plain is the text of a node without markup, as GitHub takes it for an id.
func plain(node ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Segment.Value(source))
			if n.SoftLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.Label(source))
		case *ast.Image:
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// introduction is the first paragraph that has words, or nil. A chapter's way of an event, which is
// code, isn't meant.
func (p *page) introduction() ast.Node {
	for node := p.doc.FirstChild(); node != nil; node = node.NextSibling() {
		if node.Kind() == ast.KindParagraph && strings.TrimSpace(plain(node, p.body)) != "" &&
			node.FirstChild().Kind() != ast.KindCodeSpan {
			return node
		}
	}
	return nil
}

// summary is what a search engine or a card shows of a page: the first sentences of its introduction,
// up to 200 characters if the first one isn't longer.
func (p *page) summary() string {
	paragraph := p.introduction()
	if paragraph == nil {
		return ""
	}
	summary := ""
	for _, sentence := range strings.SplitAfter(plain(paragraph, p.body), ". ") {
		if summary != "" && len(summary)+len(sentence) > 200 {
			break
		}
		summary += sentence
	}
	return strings.TrimSpace(summary)
}

// cutFirstSentence takes the first sentence out of the introduction, unless it has more markup than code.
func (p *page) cutFirstSentence() {
	paragraph := p.introduction()
	if paragraph == nil {
		return
	}
	var cut []ast.Node
	left := len(p.about) + len(" ")
	for node := paragraph.FirstChild(); node != nil && left > 0; node = node.NextSibling() {
		text, isText := node.(*ast.Text)
		size := len(plain(node, p.body))
		if !isText && (node.Kind() != ast.KindCodeSpan || size > left) {
			return
		}
		if size > left {
			text.Segment = text.Segment.WithStart(text.Segment.Start + left)
			break
		}
		cut = append(cut, node)
		left -= size
	}
	for _, part := range cut {
		paragraph.RemoveChild(paragraph, part)
	}
	if !paragraph.HasChildren() {
		p.doc.RemoveChild(p.doc, paragraph)
	}
}

// firstSentence is how the introduction begins.
func (p *page) firstSentence() string {
	node := p.introduction()
	if node == nil {
		return ""
	}
	sentence, _, more := strings.Cut(plain(node, p.body), ". ")
	if more {
		sentence += "."
	}
	return sentence
}

// problems are collected: who mends one wants to see the others.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p problems) err() error { return course.Problems(p).Err() }
