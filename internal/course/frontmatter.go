package course

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// readFrontMatter decodes the YAML between the two --- lines at the top of a
// Markdown file into v and returns the text below. A key that v does not have
// is an error: it is most likely a typing mistake.
func (r *Repo) readFrontMatter(rel string, v any) (body string, err error) {
	text, err := r.read(rel)
	if err != nil {
		return "", fmt.Errorf("reading the front matter of %s: %w", rel, err)
	}
	header, body, err := splitFrontMatter(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", rel, err)
	}
	if err := yaml.UnmarshalStrict([]byte(header), v); err != nil {
		return "", fmt.Errorf("reading the front matter of %s: %w", rel, err)
	}
	return body, nil
}

// Body returns the text of a Markdown file below its front matter, if it has one,
// and the number of lines above it. The book is made of bodies.
func (r *Repo) Body(rel string) (body string, above int, err error) {
	text, err := r.read(rel)
	if err != nil {
		return "", 0, fmt.Errorf("reading %s: %w", rel, err)
	}
	header, body, err := splitFrontMatter(string(text))
	if err != nil { // not every text has one
		return string(text), 0, nil
	}
	return body, strings.Count(header, "\n") + 2, nil
}

func splitFrontMatter(text string) (header, body string, err error) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", fmt.Errorf("the first line must be --- and start the front matter")
	}
	header, body, ok = strings.Cut(rest, "\n---\n")
	if !ok {
		return "", "", fmt.Errorf("the front matter has no closing --- line")
	}
	return header + "\n", body, nil
}
