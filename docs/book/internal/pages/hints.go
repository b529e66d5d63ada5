package pages

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// fold is a part of a page that is closed until a reader opens it.
type fold struct {
	ast.BaseBlock
	heading *ast.Heading
}

var kindFold = ast.NewNodeKind("Fold")

func (f *fold) Kind() ast.NodeKind            { return kindFold }
func (f *fold) Dump(source []byte, level int) { ast.DumpHelper(f, source, level, nil, nil) }

// foldHints puts each section "## Hint 1" of an exercise into a fold: a hint that
// is in sight is read. A hint ends where the next section begins, as it does for
// the course command.
func (p *page) foldHints() {
	var open *fold
	for node := p.doc.FirstChild(); node != nil; {
		next := node.NextSibling()
		heading, ok := node.(*ast.Heading)
		switch {
		case ok && heading.Level <= 2 && strings.HasPrefix(plain(heading, p.body), "Hint"):
			open = &fold{heading: heading}
			p.doc.ReplaceChild(p.doc, heading, open)
		case ok && heading.Level <= 2:
			open = nil
		case open != nil:
			open.AppendChild(open, node)
		}
		node = next
	}
}
