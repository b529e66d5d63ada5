package folder

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/internal/course"
	"golang.org/x/net/html"
)

// Check follows each link of each page in dir, the links to anchors too, without a
// browser. Links to other sites are not followed.
func Check(dir string) error {
	pages := map[string]*links{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".html" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if rel = filepath.ToSlash(rel); err != nil || rel == "404.html" {
			return err
		}
		pages[rel] = linksOf(text)
		return nil
	})
	if err != nil {
		return fmt.Errorf("checking the links of the book: %w", err)
	}
	var problems course.Problems
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, to := range pages[page].to {
			if problem := follow(dir, pages, page, to); problem != "" {
				problems = append(problems, fmt.Sprintf("%s: %s", page, problem))
			}
		}
	}
	return problems.Err()
}

// links is what a page links to, and what can be linked to in it.
type links struct {
	to  []string
	ids map[string]bool
}

func linksOf(text []byte) *links {
	found := &links{ids: map[string]bool{}}
	tokens := html.NewTokenizer(bytes.NewReader(text))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			for _, a := range tokens.Token().Attr {
				switch a.Key {
				case "href", "src":
					found.to = append(found.to, a.Val)
				case "id":
					found.ids[a.Val] = true
				}
			}
		}
	}
}

// follow says what is wrong with a link, or nothing.
func follow(dir string, pages map[string]*links, page, link string) string {
	to, err := url.Parse(link)
	if err != nil {
		return fmt.Sprintf("%q is no link: %v", link, err)
	}
	if to.Scheme != "" || to.Host != "" {
		return ""
	}
	file := page
	if to.Path != "" {
		file = path.Join(path.Dir(page), to.Path)
	}
	if strings.HasPrefix(to.Path, "/") {
		return fmt.Sprintf("%s does not work from a folder: it begins with a slash", link)
	}
	if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file))); err != nil || !info.Mode().IsRegular() {
		return fmt.Sprintf("%s leads to %s, which is not there", link, file)
	}
	target := pages[file]
	if to.Fragment == "" || target == nil || target.ids[to.Fragment] {
		return ""
	}
	return fmt.Sprintf("%s leads to an anchor that %s does not have", link, file)
}
