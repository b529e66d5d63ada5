package pages

import (
	"fmt"
	"html"
)

// firstExercise is the section of the README that says how to get the repository.
const firstExercise = "your-first-exercise"

// begin says under the title of an exercise how to begin: where the repository comes from, what the command does, and what
// to read first.
func (s *Site) begin(p *page, r *rendering) string {
	e := p.exercise
	chapter := s.pages[e.Reads()]
	text, err := fill("begin.html", struct {
		StartHref, Command, Mine, Reads, ReadsHref string
	}{relative(p.out, s.pages[home].out) + "#" + firstExercise, "make exercise-" + e.ID(), e.Mine(), chapter.name(), relative(p.out, chapter.out)})
	if err != nil {
		r.found.add("%s: %v", p.file, err)
	}
	return text
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
