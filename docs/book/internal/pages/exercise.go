package pages

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/loopwright/loopwright/internal/course"
)

// exerciseList is a page that the repository does not have as a text: its README lists the
// chapters, and nothing lists the exercises.
const exerciseList = "exercises/README.md"

func listOf(exercises []course.Exercise, chapters []course.Chapter) string {
	titles := map[int]string{}
	for _, c := range chapters {
		titles[c.Number] = fmt.Sprintf("[%d. %s](../%s/README.md)", c.Number, c.Title, c.Dir)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# The exercises\n\nNew here? [Your first exercise](../%s#%s) says how to begin.\n\n", home, firstExercise)
	out.WriteString("| Exercise | Chapter | Its command |\n|---|---|---|\n")
	for _, e := range exercises {
		fmt.Fprintf(&out, "| [%s](%s/README.md) | %s | `make exercise-%s` |\n", e.Title, e.Name, titles[e.Chapter], e.ID)
	}
	return out.String()
}

// firstExercise is the section of the README that says how to get the repository.
const firstExercise = "your-first-exercise"

// begin says under the title of an exercise how to begin: where the repository comes from, what the command does, and what
// to read first.
func (s *Site) begin(p *page, r *rendering) string {
	e := p.exercise
	var reads []template.HTML
	for _, text := range e.Reads {
		link, err := s.readLinks(p, text)
		if err != nil {
			r.found.add("%s: reads: %v", p.file, err)
		}
		reads = append(reads, template.HTML(link))
	}
	text, err := fill("begin.html", struct {
		StartHref, Command, Mine string
		Reads                    []template.HTML
	}{relative(p.out, s.pages[home].out) + "#" + firstExercise, "make exercise-" + e.ID, e.Mine(), reads})
	if err != nil {
		r.found.add("%s: %v", p.file, err)
	}
	return text
}

// readLinks makes links of what an exercise's front matter says about where to read: a file, and sections in quotes.
func (s *Site) readLinks(from *page, reads string) (string, error) {
	file, rest, more := strings.Cut(reads, ",")
	to := s.pages[file]
	if to == nil {
		return "", fmt.Errorf("there is no text %q", file)
	}
	href := relative(from.out, to.out)
	var out strings.Builder
	fmt.Fprintf(&out, `<a href="%s">%s</a>`, html.EscapeString(href), html.EscapeString(to.name()))
	if more {
		out.WriteString(",")
	}
	for i, part := range strings.Split(rest, `"`) {
		if i%2 == 0 {
			out.WriteString(html.EscapeString(part))
			continue
		}
		id := to.named[part]
		if id == "" {
			return "", fmt.Errorf("%s has no section %q", file, part)
		}
		fmt.Fprintf(&out, `<a href="%s#%s">%s</a>`, html.EscapeString(href), html.EscapeString(id), html.EscapeString(part))
	}
	return out.String(), nil
}

// name is how a sentence calls a page.
func (p *page) name() string {
	if p.chapter != nil {
		return fmt.Sprintf("chapter %d", p.chapter.Number)
	}
	return p.title
}

// longStub is the number of lines from which a stub is folded: about one screen.
const longStub = 40

// stub shows what the learner's file begins with.
func (s *Site) stub(p *page) (string, error) {
	text, err := s.repo.Stub(*p.exercise)
	if err != nil {
		return "", err
	}
	lines, err := highlight("go", string(text))
	if err != nil {
		return "", err
	}
	open := " open"
	if len(lines) > longStub {
		open = ""
	}
	return fmt.Sprintf(`<details class="stub"%s><summary>The file that you begin with: %d lines</summary>`+"\n%s</details>\n",
		open, len(lines), codeBlock("go", "", "", `<div class="code-bar">`+html.EscapeString(p.exercise.Mine())+`</div>`, lines)), nil
}
