package pages

import (
	"bytes"
	"fmt"
	"html"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// glossary is the text whose entries can each be found and linked to.
const glossary = "docs/glossary.md"

// term is the name of an entry of the glossary.
type term struct {
	ast.BaseInline
	id string
}

// meaning is the rest of an entry.
type meaning struct {
	ast.BaseInline
	colon bool // whether a colon comes before it
}

var kindTerm, kindMeaning = ast.NewNodeKind("Term"), ast.NewNodeKind("Meaning")

func (t *term) Kind() ast.NodeKind               { return kindTerm }
func (t *term) Dump(source []byte, level int)    { ast.DumpHelper(t, source, level, nil, nil) }
func (m *meaning) Kind() ast.NodeKind            { return kindMeaning }
func (m *meaning) Dump(source []byte, level int) { ast.DumpHelper(m, source, level, nil, nil) }

// nameTerms makes a heading of what an entry begins with in bold: the search knows sections by their headings.
func (p *page) nameTerms() {
	_ = ast.Walk(p.doc, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		item, ok := node.(*ast.ListItem)
		if !ok || !entering || item.FirstChild() == nil {
			return ast.WalkContinue, nil
		}
		bold, ok := item.FirstChild().FirstChild().(*ast.Emphasis)
		if !ok || bold.Level != 2 {
			return ast.WalkContinue, nil
		}
		t := &term{id: p.taken.next("term " + plain(bold, p.body))}
		p.ids[t.id] = true
		bold.Parent().ReplaceChild(bold.Parent(), bold, t)
		for child := bold.FirstChild(); child != nil; child = bold.FirstChild() {
			t.AppendChild(t, child)
		}
		m := &meaning{}
		for child := t.NextSibling(); child != nil; child = t.NextSibling() {
			m.AppendChild(m, child)
		}
		if first, ok := m.FirstChild().(*ast.Text); ok && bytes.HasPrefix(first.Segment.Value(p.body), []byte(": ")) {
			m.colon, first.Segment = true, first.Segment.WithStart(first.Segment.Start+2)
		}
		t.Parent().AppendChild(t.Parent(), m)
		return ast.WalkSkipChildren, nil
	})
}

// term writes the heading as VitePress's search expects one.
func (r *rendering) term(w util.BufWriter, node ast.Node, entering bool) ast.WalkStatus {
	t := node.(*term)
	if entering {
		fmt.Fprintf(w, `<h4 class="term" id="%s" tabindex="-1">`, html.EscapeString(t.id))
	} else {
		fmt.Fprintf(w, `<a class="header-anchor" href="#%s" aria-label="Permalink to &quot;%s&quot;">&#8203;</a></h4>`,
			html.EscapeString(t.id), html.EscapeString(plain(t, r.page.body)))
	}
	return ast.WalkContinue
}

func (r *rendering) meaning(w util.BufWriter, node ast.Node, entering bool) ast.WalkStatus {
	switch {
	case !entering:
		_, _ = w.WriteString("</span>")
	case node.(*meaning).colon:
		_, _ = w.WriteString(`: <span class="meaning">`)
	default:
		_, _ = w.WriteString(` <span class="meaning">`)
	}
	return ast.WalkContinue
}
