package drift

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Mentions are the names in the code spans of texts, with the places where they are: "NewReflector",
// "Reflector.Run", "cache.NewReflector".
type Mentions map[string][]Place

// Place is a line of a text.
type Place struct {
	text string
	line int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.text, p.line) }

var identifier = regexp.MustCompile(`[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*`)

// Read looks at what stands in backticks. Fenced blocks do not count: they are our code, and checked otherwise.
func (m Mentions) Read(name, markdown string) {
	source := []byte(markdown)
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		span, ok := node.(*ast.CodeSpan)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		for part := span.FirstChild(); part != nil; part = part.NextSibling() {
			segment := part.(*ast.Text).Segment
			m.add(string(segment.Value(source)), Place{name, 1 + strings.Count(markdown[:segment.Start], "\n")})
		}
		return ast.WalkSkipChildren, nil
	})
}

func (m Mentions) add(code string, at Place) {
	if strings.Contains(code, "/") || strings.HasSuffix(code, ".go") { // a path, in which "cache" is no name
		return
	}
	for _, name := range identifier.FindAllString(code, -1) {
		if !slices.Contains(m[name], at) {
			m[name] = append(m[name], at)
		}
	}
}

// Of returns the places that mention a declaration, sorted.
func (m Mentions) Of(declaration string) (places []Place) {
	for name, at := range m {
		if means(name, declaration) {
			places = append(places, at...)
		}
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.line, b.line))
	})
	return slices.Compact(places)
}

// means reports whether a name in a text may be that declaration. A text often leaves the type of a method out, or has
// a package or a variable in front; to check one sentence too many costs less than to miss one.
func means(name, declaration string) bool {
	if name == declaration {
		return true
	}
	qualifier, last := splitLast(name)
	receiver, own := splitLast(declaration)
	if last != own {
		return false
	}
	_, qualifier = splitLast(qualifier)
	return qualifier == "" || qualifier == receiver || qualifier == strings.ToLower(qualifier)
}

// splitLast cuts "a.b.c" into "a.b" and "c".
func splitLast(name string) (before, last string) {
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		return name[:at], name[at+1:]
	}
	return "", name
}
