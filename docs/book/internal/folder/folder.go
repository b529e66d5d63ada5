// Package folder makes the site that VitePress has built work from a folder, too.
//
// VitePress writes links from the root of a server, and scripts that are modules. In
// a browser that opens a file, the first lead nowhere and the second are refused.
// So links become relative, and a small classic script (book/start.js) decides: on a
// server it loads VitePress's scripts, from a folder those in book/folder.js.
//
// Neighbours: internal/pages makes what VitePress builds; cmd/book calls this
// package afterwards.
package folder

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Make changes the pages in dir. Base is the path below which the site will be
// served, "/" or "/loopwright/", as VitePress was told. A second call finds
// nothing to do.
func Make(dir, base string) error {
	s := site{dir: dir, base: base}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".html" {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		// The answer for an address that is not there is shown at any address, so its links stay as they are.
		if rel = filepath.ToSlash(rel); err != nil || rel == "404.html" {
			return err
		}
		return s.rewrite(rel)
	})
	if err != nil {
		return fmt.Errorf("making the book work from a folder: %w", err)
	}
	return s.searchIndex()
}

type site struct{ dir, base string }

// rewrite changes one page, if VitePress wrote it.
func (s site) rewrite(page string) error {
	file := filepath.Join(s.dir, filepath.FromSlash(page))
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(`<script type="module" src="`)) {
		return nil
	}
	var out bytes.Buffer
	start := starter{root: strings.Repeat("../", strings.Count(page, "/"))}
	tokens := html.NewTokenizer(bytes.NewReader(text))
	for skip := false; ; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		raw := slices.Clone(tokens.Raw())
		token := tokens.Token()
		switch {
		case kind == html.StartTagToken && start.takes(token):
			skip = token.Data == "script"
		case kind == html.EndTagToken && token.Data == "script" && skip:
			skip = false
		case kind == html.EndTagToken && token.Data == "body":
			out.WriteString(start.tag(s.base))
			out.Write(raw)
		case kind == html.StartTagToken || kind == html.SelfClosingTagToken:
			tag, err := s.tag(page, raw, token)
			if err != nil {
				return err
			}
			out.Write(tag)
		default:
			out.Write(raw)
		}
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// starter collects VitePress's modules, which the page no longer loads by itself.
type starter struct {
	root, app string
	early     []string // what the app will ask for
}

func (s *starter) takes(token html.Token) bool {
	switch {
	case token.Data == "script" && attribute(token, "type") == "module":
		s.app = attribute(token, "src")
		return true
	case token.Data == "link" && attribute(token, "rel") == "modulepreload":
		s.early = append(s.early, attribute(token, "href"))
		return true
	default:
		return false
	}
}

func (s *starter) tag(base string) string {
	modules := slices.Concat([]string{s.app}, s.early)
	for i, module := range modules {
		modules[i] = strings.TrimPrefix(module, base)
	}
	return fmt.Sprintf(`<script src="%sbook/start.js" data-base="%s" data-modules="%s"></script>`, s.root, base, strings.Join(modules, " "))
}

func attribute(token html.Token, name string) string {
	for _, a := range token.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

var reference = regexp.MustCompile(`\b(href|src)="([^"]*)"`)

// tag makes the links of a tag relative. Nothing else in it changes.
func (s site) tag(page string, raw []byte, token html.Token) ([]byte, error) {
	var wrong error
	changed := reference.ReplaceAllFunc(raw, func(found []byte) []byte {
		match := reference.FindSubmatch(found)
		address := html.UnescapeString(string(match[2]))
		if !strings.HasPrefix(address, s.base) || strings.HasPrefix(address, "//") {
			return found
		}
		to, err := s.relative(page, strings.TrimPrefix(address, s.base))
		if err != nil {
			wrong = fmt.Errorf("%s, <%s>: %w", page, token.Data, err)
		}
		return fmt.Appendf(nil, `%s="%s"`, match[1], html.EscapeString(to))
	})
	return changed, wrong
}

// relative is the way from a page to an address below the base.
func (s site) relative(page, address string) (string, error) {
	at, fragment := address, ""
	if hash := strings.IndexByte(address, '#'); hash >= 0 {
		at, fragment = address[:hash], address[hash:]
	}
	for _, file := range []string{at, at + ".html", path.Join(at, "index.html")} {
		if info, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(file))); err == nil && info.Mode().IsRegular() {
			way, err := filepath.Rel(path.Dir(page), file)
			return filepath.ToSlash(way) + fragment, err
		}
	}
	return "", fmt.Errorf("a link to %s%s, and the book has no such page", s.base, address)
}

var export = regexp.MustCompile(`export\s*\{\s*(\w+) as default\s*\};?\s*$`)

// searchIndex writes VitePress's index of the whole text as a classic script.
func (s site) searchIndex() error {
	found, err := filepath.Glob(filepath.Join(s.dir, "assets", "chunks", "@localSearchIndex*.js"))
	if err != nil {
		return fmt.Errorf("making the search work from a folder: %w", err)
	}
	if len(found) != 1 {
		return fmt.Errorf("making the search work from a folder: %d files assets/chunks/@localSearchIndex*.js in %s, and there should be one: run `make book`", len(found), s.dir)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return fmt.Errorf("making the search work from a folder: %w", err)
	}
	name := export.FindSubmatch(text)
	if name == nil {
		return fmt.Errorf("making the search work from a folder: %s does not end with an export: another version of VitePress writes another index, so look at it", found[0])
	}
	script := fmt.Sprintf("(function(){%swindow.loopwrightSearchIndex=%s})()\n", export.ReplaceAll(text, nil), name[1])
	if err := os.WriteFile(filepath.Join(s.dir, "book", "search-index.js"), []byte(script), 0o644); err != nil {
		return fmt.Errorf("making the search work from a folder: %w", err)
	}
	return nil
}
