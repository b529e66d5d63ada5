package course

import (
	"net/url"
	"path"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// deadLinks reports each link and picture of a Markdown file that leads to a
// file which is not in the tree. Links to other sites are not followed.
func (r *Repo) deadLinks(file, markdown string) (problems Problems) {
	for _, target := range linksIn(markdown) {
		if to := path.Join(path.Dir(file), target); !r.exists(to) {
			problems.add("%s links to %s, but there is no %s", file, target, to)
		}
	}
	return problems
}

// linksIn returns the relative targets of all links, without their fragments.
func linksIn(markdown string) (targets []string) {
	source := []byte(markdown)
	document := goldmark.DefaultParser().Parse(text.NewReader(source))
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		var target []byte
		switch link := node.(type) {
		case *ast.Link:
			target = link.Destination
		case *ast.Image:
			target = link.Destination
		}
		if to, err := url.Parse(string(target)); entering && err == nil && to.Scheme == "" && to.Path != "" {
			targets = append(targets, to.Path)
		}
		return ast.WalkContinue, nil
	})
	return targets
}
