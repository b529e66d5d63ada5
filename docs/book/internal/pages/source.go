package pages

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
)

// crumb is one step of the way to a file, above its page.
type crumb struct{ Name, Href string }

// writeSources writes a page for each file that a text links to, and for each
// directory on the way to it. They need no scripts: a line is an anchor, and the
// style sheet knows whether the reader likes it dark.
func (s *Site) writeSources(public string) error {
	for file := range s.sources {
		for dir := path.Dir(file); ; dir = path.Dir(dir) {
			s.listings[dir] = true
			if dir == "." {
				break
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(s.sources)) {
		if err := s.writeSource(public, file); err != nil {
			return err
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(s.listings)) {
		if err := s.writeListing(public, dir); err != nil {
			return err
		}
	}
	return nil
}

func (s *Site) writeSource(public, file string) error {
	text, err := os.ReadFile(s.repo.Abs(file))
	if err != nil {
		return fmt.Errorf("showing %s: %w", file, err)
	}
	if !utf8.Valid(text) {
		return fmt.Errorf("%s is not text, so it has no page: link to its directory", file)
	}
	lines, err := highlight(file, string(text))
	if err != nil {
		return fmt.Errorf("showing %s: %w", file, err)
	}
	var code strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&code, "<span id=\"L%d\"><a href=\"#L%d\">%d</a>%s%s\n</span>", i+1, i+1, i+1, line, s.ranges.anchors(file, i+1))
	}
	out := sourcePage(file)
	page, err := fill("source.html", struct {
		Title, Root, Online string
		Way                 []crumb
		Code                template.HTML
	}{file, rootFrom(out), Repository + "/blob/main/" + file, way(file, out), template.HTML(code.String())})
	if err != nil {
		return err
	}
	return write(filepath.Join(public, filepath.FromSlash(out)), page)
}

func (s *Site) writeListing(public, dir string) error {
	entries, err := os.ReadDir(s.repo.Abs(dir))
	if err != nil {
		return fmt.Errorf("showing %s: %w", dir, err)
	}
	out := path.Join(sourceDir, dir, "index.html")
	var rows []crumb
	for _, entry := range entries {
		rel := path.Join(dir, entry.Name())
		switch {
		case s.pages[rel] != nil:
			rows = append(rows, crumb{entry.Name(), relative(out, s.pages[rel].out)})
		case s.sources[rel]:
			rows = append(rows, crumb{entry.Name(), relative(out, sourcePage(rel))})
		case entry.IsDir() && s.listings[rel]:
			rows = append(rows, crumb{entry.Name() + "/", relative(out, path.Join(sourceDir, rel, "index.html"))})
		case entry.IsDir() && s.pages[rel+"/README.md"] != nil:
			rows = append(rows, crumb{entry.Name() + "/", relative(out, s.pages[rel+"/README.md"].out)})
		}
	}
	title, online := dir, Repository+"/tree/main/"+dir
	if dir == "." {
		title, online = "loopwright", Repository
	}
	page, err := fill("listing.html", struct {
		Title, Root, Online string
		Way, Rows           []crumb
	}{title, rootFrom(out), online, way(dir, out), rows})
	if err != nil {
		return err
	}
	return write(filepath.Join(public, filepath.FromSlash(out)), page)
}

// way is the path to a file, each directory a link to what is in it.
func way(file, from string) []crumb {
	crumbs := []crumb{{"loopwright", relative(from, sourceDir+"/index.html")}}
	if file == "." {
		return crumbs[:1]
	}
	names := strings.Split(file, "/")
	for i, name := range names[:len(names)-1] {
		crumbs = append(crumbs, crumb{name, relative(from, path.Join(sourceDir, path.Join(names[:i+1]...), "index.html"))})
	}
	return append(crumbs, crumb{names[len(names)-1], ""})
}

// rootFrom is the way from a file of the book to its root: "../../".
func rootFrom(out string) string { return strings.Repeat("../", strings.Count(out, "/")) }

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("writing the book: %w", err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the book: %w", err)
	}
	return nil
}

// colors are the style sheets for code: one for pages that have a switch for dark,
// and one for those that follow the system.
func colors() (switched, followed string, err error) {
	formatter := chromahtml.New(chromahtml.WithClasses(true))
	var light, dark bytes.Buffer
	if err := formatter.WriteCSS(&light, lightStyle); err != nil {
		return "", "", fmt.Errorf("writing the colors of code: %w", err)
	}
	if err := formatter.WriteCSS(&dark, darkStyle); err != nil {
		return "", "", fmt.Errorf("writing the colors of code: %w", err)
	}
	switched = strings.ReplaceAll(light.String(), ".chroma", "html:not(.dark) .chroma") + strings.ReplaceAll(dark.String(), ".chroma", ".dark .chroma")
	followed = "@media (prefers-color-scheme: light) {\n" + light.String() + "}\n@media (prefers-color-scheme: dark) {\n" + dark.String() + "}\n"
	return switched, followed, nil
}
