package course

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Chapter is a chapter that is written: its front matter and where it is.
type Chapter struct {
	Number int    `json:"-"`
	Dir    string `json:"-"` // "chapters/01-list-watch"

	Title     string     `json:"title"`
	Part      int        `json:"part"`
	Minutes   int        `json:"minutes"`
	Draft     bool       `json:"draft"` // its files stand, its text and its demo are still being written
	Files     []string   `json:"files"` // paths or globs; Expand makes paths of them
	Exercises []string   `json:"exercises"`
	Upstream  []Upstream `json:"upstream"`
}

// Upstream is a file of the original that the chapter mirrors, or at least sends its readers to.
type Upstream struct {
	Module  string   `json:"module"`
	Version string   `json:"version"`
	File    string   `json:"file"`
	Ours    []string `json:"ours"` // globs: the chapter's library files that do what the original does
}

// Chapters reads the front matter of every written chapter, in order. What is
// wrong with single chapters is returned as problems next to the good ones.
func (r *Repo) Chapters() ([]Chapter, Problems, error) {
	names, err := r.numbered("chapters")
	if err != nil {
		return nil, nil, err
	}
	var chapters []Chapter
	var problems Problems
	for _, name := range names {
		c := Chapter{Number: numberOf(name), Dir: "chapters/" + name}
		if _, err := r.readFrontMatter(c.Dir+"/README.md", &c); err != nil {
			problems.add("%v", err)
			continue
		}
		chapters = append(chapters, c)
	}
	return chapters, problems, nil
}

// written reads the chapters and insists that all of them are in order. What
// runs code uses it: a milestone of half the chapters would prove nothing.
func (r *Repo) written() ([]Chapter, error) {
	chapters, problems, err := r.Chapters()
	if err != nil {
		return nil, err
	}
	return chapters, problems.Err()
}

// numbered lists the directories in dir that are called NN-name, sorted.
func (r *Repo) numbered(dir string) ([]string, error) {
	entries, err := os.ReadDir(r.Abs(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		// A directory without its README.md is somebody's work in progress.
		if e.IsDir() && numberOf(e.Name()) > 0 && r.has(path.Join(dir, e.Name(), "README.md")) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return numberOf(a) - numberOf(b) })
	return names, nil
}

// numberOf returns 7 for "07-delaying-queue" and 0 for what is not so named.
func numberOf(name string) int {
	digits, _, ok := strings.Cut(name, "-")
	if !ok {
		return 0
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// draft is what a chapter that is being written is called in the tables.
const draft = "in progress"

// Expand returns the library files that a chapter adds. Globs are matched
// against all, the files of the tree; a path or glob that matches nothing is
// returned in missing.
func (c Chapter) Expand(all []string) (files, missing []string) {
	for _, pattern := range c.Files {
		found := false
		for _, f := range all {
			if ok, err := path.Match(pattern, f); ok && err == nil {
				files, found = append(files, f), true
			}
		}
		if !found {
			missing = append(missing, pattern)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), missing
}

// find returns the chapter with that number, or an error that helps whoever
// typed a number that is not there.
func (r *Repo) find(chapters []Chapter, number int) (Chapter, error) {
	for _, c := range chapters {
		if c.Number == number {
			return c, nil
		}
	}
	table := ChapterTable(r.Outline, chapters)
	for _, p := range r.Outline {
		if p.Number == number {
			return Chapter{}, fmt.Errorf("chapter %d, %q, is planned but not written yet; choose one that is written:\n\n%s", number, p.Title, table)
		}
	}
	return Chapter{}, fmt.Errorf("there is no chapter %d; the chapters are:\n\n%s", number, table)
}

// ChapterTable is the outline as a table for a terminal.
func ChapterTable(outline []Planned, chapters []Chapter) string {
	t := table{header: []string{"", "chapter", "part", "minutes", ""}}
	for _, p := range outline {
		minutes, state := "", "planned"
		for _, c := range chapters {
			if c.Number == p.Number {
				minutes, state = fmt.Sprint(c.Minutes), "written"
				if c.Draft {
					minutes, state = "", draft
				}
			}
		}
		t.add(fmt.Sprintf("%2d", p.Number), p.Title, partName(p.Part), minutes, state)
	}
	return t.String()
}

func partName(part int) string {
	if part < 1 || part >= len(Parts) {
		return fmt.Sprint(part)
	}
	return fmt.Sprintf("%d %s", part, Parts[part])
}
