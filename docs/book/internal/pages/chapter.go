package pages

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/internal/course"
)

//go:embed templates/*.html
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.html"))

func fill(name string, data any) (string, error) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		return "", err
	}
	return out.String(), nil
}

// facts is what the front matter says, under the title: of a chapter, which part it
// belongs to, how long it takes, and what comes before it; of an exercise, what to
// write, and how it is tested.
func (s *Site) facts(p *page, r *rendering) string {
	var text string
	var err error
	switch {
	case p.chapter != nil:
		c := p.chapter
		data := struct {
			Part, Before, BeforeHref string
			Minutes, Exercises       int
		}{Part: fmt.Sprintf("Part %d: %s", c.Part, course.Parts[c.Part]), Minutes: c.Minutes, Exercises: len(c.Exercises)}
		if before := s.chapterNumber(c.Number - 1); before != nil {
			data.Before = fmt.Sprintf("chapter %d, %s", before.chapter.Number, before.chapter.Title)
			data.BeforeHref = relative(p.out, before.out)
		}
		text, err = fill("facts-chapter.html", data)
	case p.exercise != nil:
		e := p.exercise
		chapter := s.chapterNumber(e.Chapter)
		data := struct {
			Chapter, ChapterHref, Command string
			Functions                     []string
		}{
			Chapter: fmt.Sprintf("chapter %d, %s", e.Chapter, chapter.chapter.Title), ChapterHref: relative(p.out, chapter.out),
			Command: "make exercise-" + e.ID, Functions: e.Function,
		}
		text, err = fill("facts-exercise.html", data)
		text += s.begin(p, r)
	}
	if err != nil {
		r.found.add("%s: %v", p.file, err)
	}
	return text
}

func (s *Site) chapterNumber(number int) *page {
	for _, p := range s.order {
		if p.chapter != nil && p.chapter.Number == number {
			return p
		}
	}
	return nil
}

// chapterEnd is what the front matter says below the text: the exercises, the
// originals, and the chapter's files.
func (s *Site) chapterEnd(p *page) (string, error) {
	type link struct{ Title, Note, Href string }
	type original struct {
		course.Upstream
		Href string
	}
	var data struct {
		OriginalsID      string
		Exercises, Files []link
		Originals        []original
	}
	for _, name := range p.chapter.Exercises {
		e := s.pages["exercises/"+name+"/README.md"]
		if e == nil || e.exercise == nil {
			return "", fmt.Errorf("the front matter lists the exercise %s, but exercises/%s/README.md does not exist", name, name)
		}
		data.Exercises = append(data.Exercises, link{e.exercise.Title, "make exercise-" + e.exercise.ID, relative(p.out, e.out)})
	}
	for _, u := range p.chapter.Upstream {
		data.Originals = append(data.Originals, original{u, originalURL(u)})
	}
	files, err := s.chapterFiles(p.chapter)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		s.sources[file] = true
		data.Files = append(data.Files, link{Title: file, Href: relative(p.out, sourcePage(file))})
	}
	data.OriginalsID = p.taken.next("The originals")
	return fill("chapter-end.html", data)
}

// chapterFiles are the files that the chapter adds to the library, without their tests.
func (s *Site) chapterFiles(c *course.Chapter) ([]string, error) {
	all, err := s.repo.GoFiles()
	if err != nil {
		return nil, err
	}
	files, missing := c.Expand(all)
	if len(missing) > 0 {
		return nil, fmt.Errorf("the front matter lists %s, which matches no file", strings.Join(missing, ", "))
	}
	return slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") }), nil
}

// originalURL is where a file of Kubernetes' own modules can be read, at the tag
// of its version, or "" for the modules of others.
func originalURL(u course.Upstream) string {
	for prefix, organisation := range map[string]string{"k8s.io/": "kubernetes", "sigs.k8s.io/": "kubernetes-sigs"} {
		if rest, ok := strings.CutPrefix(u.Module, prefix); ok {
			repository, _, _ := strings.Cut(rest, "/")
			return "https://" + path.Join("github.com", organisation, repository, "blob", u.Version, u.File)
		}
	}
	return ""
}
