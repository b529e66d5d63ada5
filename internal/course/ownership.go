package course

import (
	"fmt"
	"slices"
	"strings"
)

// Ownership says to which chapter each Go file belongs: number 0 is the ground
// floor, which every milestone has.
type Ownership map[string]int

// Hidden lists, sorted, the Go files that milestone n does not have yet.
func (o Ownership) Hidden(n int) []string {
	var hidden []string
	for file, chapter := range o {
		if chapter > n {
			hidden = append(hidden, file)
		}
	}
	slices.Sort(hidden)
	return hidden
}

// own gives each Go file to its chapter. Problems are files with no chapter or
// two, and front matter that names files which are not there or not a
// chapter's to own.
func own(files []string, chapters []Chapter) (Ownership, Problems) {
	owners := Ownership{}
	var problems Problems
	for _, c := range chapters {
		mine, missing := c.Expand(files)
		for _, m := range missing {
			problems.add("%s/README.md lists %s under files, but no such Go file exists: correct the name or remove it", c.Dir, m)
		}
		for _, f := range mine {
			switch other, taken := owners[f]; {
			case areaOf(f) == ground:
				problems.add("%s/README.md lists %s under files, but that is ground floor, which belongs to no chapter: remove it", c.Dir, f)
			case areaOf(f) == chapterDir:
				problems.add("%s/README.md lists %s under files, but a chapter's directory belongs to it anyway: remove it", c.Dir, f)
			case taken:
				problems.add("%s belongs to chapter %d and to chapter %d: remove it from the files of one of them", f, other, c.Number)
			default:
				owners[f] = c.Number
			}
		}
	}
	for _, f := range files {
		if areaOf(f) == ground {
			owners[f] = 0
			continue
		}
		if areaOf(f) == chapterDir {
			owner, ok := chapterOfDir(f, chapters)
			if !ok {
				problems.add("%s lies in no written chapter: its directory needs a README.md with front matter", f)
			}
			owners[f] = owner
			continue
		}
		if _, ok := owners[f]; !ok {
			problems.add("%s belongs to no chapter: if it is not part of the course, move it out of the checkout or into my/; if it is, list it under files in the README.md of the chapter that introduces it", f)
		}
	}
	return owners, problems
}

func chapterOfDir(file string, chapters []Chapter) (int, bool) {
	for _, c := range chapters {
		if strings.HasPrefix(file, c.Dir+"/") {
			return c.Number, true
		}
	}
	return 0, false
}

// agree compares the front matter of the written chapters with the outline.
func agree(outline []Planned, chapters []Chapter) Problems {
	var problems Problems
	for _, c := range chapters {
		i := slices.IndexFunc(outline, func(p Planned) bool { return p.Number == c.Number })
		if i < 0 {
			problems.add("%s is not in the outline: add it to internal/course/outline.go", c.Dir)
			continue
		}
		for _, d := range []struct{ what, outline, chapter string }{
			{"directory", outline[i].Dir(), c.Dir},
			{"title", outline[i].Title, c.Title},
			{"part", fmt.Sprint(outline[i].Part), fmt.Sprint(c.Part)},
		} {
			if d.outline != d.chapter {
				problems.add("%s/README.md has the %s %q, the outline has %q: change the front matter or internal/course/outline.go", c.Dir, d.what, d.chapter, d.outline)
			}
		}
		if c.Minutes <= 0 && !c.Draft {
			problems.add("%s/README.md has no minutes: say how long the chapter takes a reader", c.Dir)
		}
	}
	return problems
}
