package course

import (
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// mentions are the names in the code spans of a text, with the lines where they are: "NewReflector", "Reflector.Run",
// "cache.NewReflector".
type mentions map[string][]int

var identifier = regexp.MustCompile(`[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*`)

// mentionsIn looks at what stands in backticks. Fenced blocks do not count: they are our code, and checked otherwise.
func mentionsIn(markdown string) mentions {
	_, body, err := splitFrontMatter(markdown)
	if err != nil {
		body = markdown
	}
	before := strings.Count(markdown[:len(markdown)-len(body)], "\n")
	source := []byte(body)
	found := mentions{}
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		span, ok := node.(*ast.CodeSpan)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		for part := span.FirstChild(); part != nil; part = part.NextSibling() {
			segment := part.(*ast.Text).Segment
			found.add(string(segment.Value(source)), before+1+strings.Count(body[:segment.Start], "\n"))
		}
		return ast.WalkSkipChildren, nil
	})
	return found
}

func (m mentions) add(code string, line int) {
	if strings.Contains(code, "/") || strings.HasSuffix(code, ".go") { // a path, in which "cache" is no name
		return
	}
	for _, name := range identifier.FindAllString(code, -1) {
		if !slices.Contains(m[name], line) {
			m[name] = append(m[name], line)
		}
	}
}

// of returns the lines that mention a declaration, sorted.
func (m mentions) of(declaration string) (lines []int) {
	for name, at := range m {
		if means(name, declaration) {
			lines = append(lines, at...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
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
