package pages

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"golang.org/x/net/html"
)

// Comments in the texts are instructions: to the course command, which fills in
// code and output, and to this package.
const (
	snippetMarker    = "snippet"    // the code block that follows is cut from a file
	outputMarker     = "output"     // the block that follows is what a program printed
	figureMarker     = "figure"     // the picture that follows can be tried
	playgroundMarker = "playground" // the picture that follows gives its place to a cluster
	githubMarker     = "github"     // what follows is for readers on GitHub only
)

// readMarkers writes on each node what the comment before it says about it. It leaves out what is only for GitHub.
func (p *page) readMarkers() {
	_ = ast.Walk(p.doc, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		block, ok := node.(*ast.HTMLBlock)
		if !ok || !entering || block.NextSibling() == nil {
			return ast.WalkContinue, nil
		}
		inner, ok := comment(rawText(block, p.body))
		if inner == githubMarker && ok {
			block.Parent().RemoveChild(block.Parent(), block.NextSibling())
			return ast.WalkContinue, nil
		}
		if word, args, _ := strings.Cut(inner, " "); ok && slices.Contains([]string{snippetMarker, outputMarker, figureMarker, playgroundMarker}, word) {
			block.NextSibling().SetAttributeString(word, args)
		}
		return ast.WalkContinue, nil
	})
}

// marked returns the arguments of a marker: "name=reflector" as a map.
func marked(node ast.Node, word string) (map[string]string, bool) {
	args, ok := node.AttributeString(word)
	if !ok {
		return nil, false
	}
	pairs := map[string]string{}
	for _, arg := range strings.Fields(args.(string)) {
		key, value, _ := strings.Cut(arg, "=")
		pairs[key] = value
	}
	return pairs, true
}

// comment returns what is inside an HTML comment that is all there is.
func comment(text string) (string, bool) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "<!--")
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, "-->")
	return strings.TrimSpace(inner), ok && !strings.Contains(inner, "-->")
}

// rawText is a piece of HTML as it was written.
func rawText(node ast.Node, source []byte) string {
	var out strings.Builder
	switch n := node.(type) {
	case *ast.HTMLBlock:
		for i := range n.Lines().Len() {
			segment := n.Lines().At(i)
			out.Write(segment.Value(source))
		}
		if n.HasClosure() {
			out.Write(n.ClosureLine.Value(source))
		}
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			out.Write(segment.Value(source))
		}
	}
	return out.String()
}

// tags are the HTML tags that a text may use: those that GitHub leaves alone. A
// <T> outside of backquotes vanishes there, and would be a component to Vue here.
var tags = map[string]bool{
	"details": true, "summary": true, "sup": true, "sub": true, "kbd": true, "br": true, "b": true, "i": true,
	"em": true, "strong": true, "code": true, "a": true, "p": true, "div": true,
}

// checkTags reports tags that are none, and those that are opened and not closed,
// or the other way round: the page would be torn.
func (p *page) checkTags() (found problems) {
	type opened struct {
		tag  string
		line int
	}
	var open []opened
	_ = ast.Walk(p.doc, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		raw := rawText(node, p.body)
		if !entering || raw == "" {
			return ast.WalkContinue, nil
		}
		line := p.line(node)
		tokens := html.NewTokenizer(strings.NewReader(raw))
		for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
			token := tokens.Token()
			switch kind {
			case html.StartTagToken, html.SelfClosingTagToken:
				if !tags[token.Data] {
					found.add("%s:%d: <%s> is no HTML tag that a text may use: put it into backquotes", p.file, line, token.Data)
				} else if token.Data != "br" {
					open = append(open, opened{token.Data, line})
				}
				for _, a := range token.Attr {
					switch a.Key {
					case "id", "name":
						p.ids[a.Val] = true
					case "href", "src", "srcset":
						found.add("%s:%d: <%s %s=...> is not checked: write the link or the picture in Markdown", p.file, line, token.Data, a.Key)
					}
				}
			case html.EndTagToken:
				if len(open) == 0 || open[len(open)-1].tag != token.Data {
					found.add("%s:%d: </%s> closes nothing that is open: remove it, or write <%s> before it", p.file, line, token.Data, token.Data)
				} else {
					open = open[:len(open)-1]
				}
			}
		}
		return ast.WalkContinue, nil
	})
	for _, o := range open {
		found.add("%s:%d: <%s> is never closed: write </%s>, with a blank line before it", p.file, o.line, o.tag, o.tag)
	}
	return found
}
