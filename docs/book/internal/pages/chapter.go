package pages

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"path"
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

// facts is what chapter.yaml says, under the title: of a chapter, what you can do
// afterwards, what you need first, and how long it takes; of an exercise, what to
// write, and how it is tested.
func (s *Site) facts(p *page, r *rendering) string {
	var text string
	var err error
	switch {
	case p.chapter != nil:
		c := p.chapter
		type need struct{ Text, Href string }
		data := struct {
			*course.Chapter
			course.Times
			In    string
			First []need
		}{Chapter: c, In: fmt.Sprintf("Part %d: %s", c.Part, course.Parts[c.Part])}
		for _, text := range c.Needs {
			n := need{Text: text}
			if earlier := s.chapterNumber(course.NeededChapter(text)); earlier != nil {
				n = need{earlier.chapter.Title, relative(p.out, earlier.out)}
			}
			data.First = append(data.First, n)
		}
		if data.Times, err = s.repo.Times(*c); err == nil {
			text, err = fill("facts-chapter.html", data)
		}
	case p.exercise != nil:
		e := p.exercise
		chapter := s.chapterNumber(e.Number)
		data := struct {
			Chapter, ChapterHref, Command string
			Functions                     []string
		}{
			Chapter: fmt.Sprintf("chapter %d, %s", e.Number, chapter.chapter.Title), ChapterHref: relative(p.out, chapter.out),
			Command: "make exercise-" + e.ID(), Functions: e.Function,
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

// chapterEnd is what chapter.yaml says below the text: the exercise, and the file that the chapter builds.
func (s *Site) chapterEnd(p *page) (string, error) {
	type link struct{ Title, Note, Href string }
	var data struct{ Exercise, File *link }
	if e := s.pages[p.chapter.Task()]; e != nil && e.exercise != nil {
		data.Exercise = &link{e.exercise.Title, "make exercise-" + e.exercise.ID(), relative(p.out, e.out)}
	}
	s.sources[p.chapter.File] = true
	data.File = &link{Title: p.chapter.File, Href: relative(p.out, sourcePage(p.chapter.File))}
	return fill("chapter-end.html", data)
}

// libraryPage is the text about the library that a chapter leads to.
const libraryPage = "/library.md"

// originalsEnd lists the originals below a text about the library.
func originalsEnd(p *page) (string, error) {
	type original struct {
		course.Upstream
		Href string
	}
	data := struct {
		ID        string
		Originals []original
	}{ID: p.taken.next("The originals")}
	for _, u := range p.originals {
		data.Originals = append(data.Originals, original{u, originalURL(u)})
	}
	return fill("originals.html", data)
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
