package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Page writes a page with all figures, for whoever changes them, and for the tests. #dark
// makes it dark, and #try opens all of them.
func Page(root, out string) error {
	var page strings.Builder
	page.WriteString(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>The figures of the book</title>
<style>body { margin: 0 auto; max-width: 700px; padding: 12px; font-family: system-ui, sans-serif } .dark body { background: #1b1b1f; color: #e6edf3 }</style>
<script>document.documentElement.classList.toggle('dark', location.hash.includes('dark'))</script>
<script defer src="figures.js"></script>
<script type="module">if (location.hash.includes('try')) document.querySelectorAll('loop-figure').forEach((f) => f.open())</script>
`)
	for _, m := range Modules {
		for _, name := range m.Figures {
			picture, err := Picture(root, name)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(picture)
			if err != nil {
				return err
			}
			file := "figure-" + name + ".svg"
			if err := os.WriteFile(filepath.Join(out, file), text, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&page, "<h2>%s: %s</h2>\n<loop-figure name=\"%[2]s\"><img src=\"%s\" alt=\"%[2]s\"></loop-figure>\n", m.Name, name, file)
		}
	}
	return os.WriteFile(filepath.Join(out, "index.html"), []byte(page.String()), 0o644)
}

// Text is the one text of a chapter that has the figure's marker.
func Text(root, name string) (string, error) {
	texts, err := filepath.Glob(filepath.Join(root, "chapters", "*", "*.md"))
	if err != nil {
		return "", err
	}
	var found []string
	for _, text := range texts {
		content, err := os.ReadFile(text)
		if err != nil {
			return "", err
		}
		if strings.Contains(string(content), "<!-- figure name="+name+" -->\n![") {
			found = append(found, text)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the figure %s belongs in one text of a chapter, below a line <!-- figure name=%[1]s -->, and is in %d", name, len(found))
	}
	return found[0], nil
}

// Picture is the file of a figure's picture, beside the figure's text.
func Picture(root, name string) (string, error) {
	text, err := Text(root, name)
	return filepath.Join(filepath.Dir(text), "testdata", "figure-"+name+".svg"), err
}
