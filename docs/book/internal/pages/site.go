// Package pages makes the pages of the book from the texts of the repository.
//
// Markdown, Go and YAML files go in; out come pages for VitePress, which adds
// the menu, the search and the looks, and plain HTML pages that show source
// files. A text is on GitHub what it is here: nothing is written for the book
// alone. A link that leads nowhere is an error.
//
// The text of a page is complete HTML, and the page tells Vue to leave it alone.
// So what is in a text can never be taken for a template, ids are GitHub's, and
// one parser decides what a link is.
//
// Neighbours: below it is internal/course, which knows chapters and exercises.
// Above it is cmd/book.
package pages

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/internal/course"
)

// Repository is where people read the texts and sources online.
const Repository = "https://github.com/loopwright/loopwright"

// Site is all that the book shows.
type Site struct {
	repo  *course.Repo
	pages map[string]*page // by the file
	order []*page          // as one reads them
	menu  []group

	sources  map[string]bool // files that have a page, because something links to them
	listings map[string]bool // directories
	ranges   ranges          // of the sources: which lines a text shows or means
	pictures map[string]bool

	recordings map[string]bool // for X-ray
}

// Open reads all texts of the checkout at root.
func Open(root string) (*Site, error) {
	repo, err := course.Open(root)
	if err != nil {
		return nil, err
	}
	chapters, wrong, err := repo.Chapters()
	if err != nil {
		return nil, err
	}
	found := problems(wrong)
	exercises, wrong, err := repo.Exercises()
	if err != nil {
		return nil, err
	}
	found = append(found, wrong...)
	s := &Site{repo: repo, pages: map[string]*page{}, sources: map[string]bool{}, listings: map[string]bool{}, pictures: map[string]bool{}, recordings: map[string]bool{}, ranges: ranges{}}
	files, err := repo.Markdown()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(repo.Abs(file))
		if err != nil {
			return nil, err
		}
		p, wrong := newPage(file, string(text))
		found = append(found, wrong...)
		s.pages[file] = p
	}
	for i := range chapters {
		s.pages[chapters[i].Readme()].chapter = &chapters[i]
		if p := s.pages[chapters[i].Dir+libraryPage]; p != nil {
			p.originals = chapters[i].Upstream
		}
	}
	for i := range exercises {
		s.pages[exercises[i].Text()].exercise = &exercises[i]
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	s.arrange(chapters)
	return s, nil
}

// group is a part of the menu.
type group struct {
	Title     string `json:"text"`
	Collapsed bool   `json:"collapsed"`
	Items     []item `json:"items"`
}

type item struct {
	Title string `json:"text"`
	Link  string `json:"link,omitempty"`
	Items []item `json:"items,omitempty"`
}

// reference is the order of the first of them; what is not here comes after them, by name.
var reference = []string{
	playground, "docs/architecture.md", "docs/glossary.md", "docs/xray.md", "docs/debugging.md", "docs/coming-from-client-go.md", "docs/new.md", "docs/porting.md",
	"docs/benchmarks.md", "docs/measuring.md", "docs/walkthroughs.md", "docs/hostile-network.md", "docs/bad-days.md", "docs/sharding.md", "docs/controllers.md",
	"docs/teaching.md", "docs/thanks.md",
}

// generated has tables that a check compares with the code. Texts link to them, and nobody looks for them in a menu.
const generated = "docs/generated"

// arrange puts the pages into the order in which they are read, and makes the menu of them.
func (s *Site) arrange(chapters []course.Chapter) {
	placed := map[string]bool{home: true}
	s.order = append(s.order, s.pages[home])
	entry := func(file, title string) item {
		p := s.pages[file]
		placed[file] = true
		s.order = append(s.order, p)
		return item{Title: title, Link: "/" + p.url()}
	}
	for part := 1; part < len(course.Parts); part++ {
		g := group{Title: fmt.Sprintf("Part %d: %s", part, course.Parts[part])}
		for _, c := range chapters {
			if c.Part != part {
				continue
			}
			chapter := entry(c.Readme(), fmt.Sprintf("%d. %s", c.Number, c.Title))
			for _, file := range append(s.below(path.Dir(c.Task()), placed), s.below(c.Dir, placed)...) {
				chapter.Items = append(chapter.Items, entry(file, s.pages[file].short()))
			}
			g.Items = append(g.Items, chapter)
		}
		s.menu = append(s.menu, g)
	}
	book := group{Title: "Reference"}
	for _, file := range slices.Concat(reference, s.below("docs", placed)) {
		if s.pages[file] != nil && !placed[file] && !strings.HasPrefix(file, "docs/book/") && path.Dir(file) != generated {
			book.Items = append(book.Items, entry(file, s.pages[file].title))
		}
	}
	rest := group{Title: "The repository", Collapsed: true}
	for _, file := range s.below(".", placed) {
		if page := entry(file, s.pages[file].title); path.Dir(file) != generated {
			rest.Items = append(rest.Items, page)
		}
	}
	s.menu = append(s.menu, book, rest)
}

// below lists the texts in a directory and below it that have no place yet.
func (s *Site) below(dir string, placed map[string]bool) (files []string) {
	for file := range s.pages {
		if !placed[file] && (dir == "." || strings.HasPrefix(file, dir+"/")) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files
}
