package pages

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"path/filepath"
	"strings"

	"github.com/loopwright/loopwright/internal/course"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// slidesPage is the deck of a chapter, beside the page of its text.
const slidesPage = "/slides.html"

// slide is what the class sees, and what only the teacher reads.
type slide struct {
	Kind  string // a class for the style sheet
	Over  string // above the title
	Title template.HTML
	Body  template.HTML
	Notes template.HTML
	Below []slide // what the down key shows and the right key passes by
}

// deck is being made from the text of a chapter, from top to bottom. Code, output, pictures and questions become
// slides. The prose before one becomes its notes, and what is left over at the end of a section or of a fold belongs to
// the slide before it.
type deck struct {
	site    *Site
	page    *page
	prose   goldmark.Markdown
	section string
	slides  []slide
	notes   bytes.Buffer // since the last slide
	fold    string       // the summary of the open fold, or ""
	promise string       // the comment of the function whose solution comes next
	asked   bool         // whether the poll has come
	found   problems
}

// slidesOf makes the deck of a chapter.
func (s *Site) slidesOf(p *page) ([]slide, problems) {
	d := &deck{site: s, page: p}
	ours := goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(plainLinks{}, 1)))
	d.prose = goldmark.New(goldmark.WithExtensions(extension.GFM), ours)
	d.cover()
	var questions []ast.Node
	for node := p.doc.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok {
			if heading.Level > 1 {
				d.leave()
				d.section = plain(heading, p.body)
			}
			continue
		}
		switch d.section {
		case "Write it", "Grown up", "What the original adds", "The whole program on the library":
			if d.section == "Write it" {
				d.note(node)
			}
		case "Questions":
			questions = append(questions, node)
		default:
			d.show(node)
		}
		if d.section == "Write it" && endsSection(node) {
			d.task()
		}
	}
	d.questions(questions)
	d.end()
	return d.slides, d.found
}

// endsSection returns true for the last node before the next heading.
func endsSection(node ast.Node) bool {
	next := node.NextSibling()
	return next == nil || next.Kind() == ast.KindHeading
}

// show makes a slide of a node, or a note.
func (d *deck) show(node ast.Node) {
	switch n := node.(type) {
	case *ast.HTMLBlock:
		d.folds(rawText(n, d.page.body))
	case *ast.FencedCodeBlock:
		if d.fold == "" || !strings.HasPrefix(d.fold, "Answer") {
			d.block(n)
		} else {
			d.note(n)
		}
	case *tables.Table:
		d.add(slide{Kind: "table", Title: d.title(), Body: d.html(n)})
	case *ast.Paragraph:
		picture, isPicture := n.FirstChild().(*ast.Image)
		switch {
		case isPicture && n.ChildCount() == 1 && d.section != "": // the cover has the map
			d.add(slide{Kind: "picture", Title: d.title(), Body: d.picture(n, picture)})
		case d.asks(n) && !d.asked && len(d.page.chapter.Poll.Answers) > 0:
			d.note(n)
			d.poll()
		case d.asks(n):
			d.add(slide{Kind: "question", Over: d.section, Title: "Predict", Body: d.question(n)})
		case !isPicture:
			d.note(n)
		}
	default:
		d.note(n)
	}
}

// add appends a slide. Its notes are the prose that has come since the last one.
func (d *deck) add(s slide) {
	prose := d.taken()
	d.fill(prose)
	s.Notes += prose
	d.slides = append(d.slides, s)
}

// leave ends a section or a fold: what is left over belongs to the slide before.
func (d *deck) leave() {
	prose := d.taken()
	d.slides[len(d.slides)-1].Notes += prose
	d.fill(prose)
}

func (d *deck) taken() template.HTML {
	prose := template.HTML(d.notes.String())
	d.notes.Reset()
	return prose
}

// fill gives the last slides notes if they have none: the text explains some pieces of code after it has shown them.
func (d *deck) fill(prose template.HTML) {
	for i := len(d.slides) - 1; i >= 0; i-- {
		s := &d.slides[i]
		for j := range s.Below {
			if s.Below[j].Notes == "" {
				s.Below[j].Notes = prose
			}
		}
		if s.Notes != "" && i < len(d.slides)-1 {
			return
		}
		if s.Notes == "" {
			s.Notes = prose
		}
	}
}

func (d *deck) note(node ast.Node) { d.notes.WriteString(string(d.html(node))) }

// html is a node without links: a teacher who clicks one has lost the slide.
func (d *deck) html(node ast.Node) template.HTML {
	var out bytes.Buffer
	if err := d.prose.Renderer().Render(&out, d.page.body, node); err != nil {
		d.found.add("%s:%d: %v", d.page.file, d.page.line(node), err)
	}
	return template.HTML(out.String())
}

func (d *deck) title() template.HTML { return template.HTML(html.EscapeString(d.section)) }

// solution is the summary of the fold that has what a learner is to write. Its prose is that of the contract above it.
const solution = "One way to write it"

// folds follows the folds of a text: what to run, answers, and solutions.
func (d *deck) folds(raw string) {
	if strings.Contains(raw, "<summary>"+solution+"</summary>") {
		d.fold = solution
		return
	}
	if d.fold == solution {
		d.fold = ""
		return
	}
	if _, summary, ok := strings.Cut(raw, "<summary>"); ok {
		d.leave()
		d.fold, _, _ = strings.Cut(summary, "</summary>")
		if !strings.Contains(d.fold, "<code>") {
			fmt.Fprintf(&d.notes, "<p><b>%s</b></p>", d.fold)
		}
	}
	if strings.Contains(raw, "</details>") {
		d.leave()
		d.fold = ""
	}
}

// cover is the first slide. Its notes are the introduction, which follows.
func (d *deck) cover() {
	c := d.page.chapter
	text, err := fill("slide-cover.html", struct {
		About template.HTML
		Map   string
		Names []string
	}{d.about(), "map.svg", c.Names})
	if err != nil {
		d.found.add("%s: %v", d.page.file, err)
	}
	d.add(slide{Kind: "cover", Over: fmt.Sprintf("Part %d: %s", c.Part, course.Parts[c.Part]),
		Title: template.HTML(html.EscapeString(fmt.Sprintf("%d. %s", c.Number, c.Title))), Body: template.HTML(text)})
}

// aboutWords is how much of the introduction the first slide has room for.
const aboutWords = 50

// about is how the introduction begins: whole sentences.
func (d *deck) about() template.HTML {
	for node := d.page.doc.FirstChild(); node != nil && node.Kind() != ast.KindThematicBreak; node = node.NextSibling() {
		paragraph, ok := node.(*ast.Paragraph)
		if !ok || paragraph.FirstChild().Kind() == ast.KindCodeSpan || paragraph.FirstChild().Kind() == ast.KindImage {
			continue // the way of an event, and the map
		}
		whole := strings.TrimSuffix(strings.TrimPrefix(string(d.html(paragraph)), "<p>"), "</p>\n")
		text, words := "", 0
		for sentence := range strings.SplitAfterSeq(whole, ". ") {
			if words += len(strings.Fields(sentence)); words > aboutWords && text != "" {
				break
			}
			text += sentence
		}
		return template.HTML(text)
	}
	return ""
}

// asks returns true for a paragraph that asks for a prediction.
func (d *deck) asks(paragraph *ast.Paragraph) bool {
	bold, ok := paragraph.FirstChild().(*ast.Emphasis)
	return ok && bold.Level == 2 && plain(bold, d.page.body) == predict
}

// question is what such a paragraph asks.
func (d *deck) question(paragraph *ast.Paragraph) template.HTML {
	var out template.HTML
	for node := paragraph.FirstChild().NextSibling(); node != nil; node = node.NextSibling() {
		out += d.html(node)
	}
	out = template.HTML(strings.TrimSpace(string(out)))
	return "<p>" + template.HTML(strings.ToUpper(string(out[:1]))) + out[1:] + "</p>"
}

// howToPoll is the first note of a poll.
const howToPoll = "<p><b>Each learner chooses an answer, and then the program runs. The next step marks the right answer, " +
	"and says why the others are wrong.</b></p>"

// poll shows the answers, and in a second step which one is right, and why the others are not.
func (d *deck) poll() {
	d.asked = true
	type answer struct {
		Letter    string
		Text, Why template.HTML
		Right     bool
	}
	var answers []answer
	for i, a := range d.page.chapter.Poll.Answers {
		answers = append(answers, answer{string(rune('A' + i)), inline(a.Text), inline(a.Why), a.Right})
	}
	text, err := fill("slide-poll.html", answers)
	if err != nil {
		d.found.add("%s: %v", d.page.file, err)
	}
	d.add(slide{Kind: "poll", Over: "Predict", Title: inline(d.page.chapter.Poll.Question), Body: template.HTML(text), Notes: howToPoll})
}

// inline is a text of chapter.yaml, with backquotes for code.
func inline(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = html.EscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		out.WriteString(part)
	}
	return template.HTML(out.String())
}

// picture is a figure's picture: a slide has no room for its controls.
func (d *deck) picture(paragraph *ast.Paragraph, image *ast.Image) template.HTML {
	to, err := d.site.resolve(d.page, string(image.Destination))
	if err != nil {
		d.found.add("%s:%d: %v", d.page.file, d.page.line(paragraph), err)
	}
	text := alternative(image, d.page.body)
	fmt.Fprintf(&d.notes, "<p>%s</p>", html.EscapeString(text))
	return template.HTML(fmt.Sprintf(`<img src="%s" alt="%s">`, html.EscapeString(to.href), html.EscapeString(text)))
}

// task is what the exercise asks for. The slide has its first paragraph, and the notes have its rules.
func (d *deck) task() {
	p := d.site.pages[d.page.chapter.Task()]
	if p == nil || p.exercise == nil {
		return
	}
	of := &deck{site: d.site, page: p, prose: d.prose}
	var task template.HTML
	for node := p.doc.FirstChild(); node != nil; node = node.NextSibling() {
		if block, ok := node.(*ast.HTMLBlock); ok && isHint(rawText(block, p.body)) {
			break
		}
		switch {
		case node.Kind() == ast.KindHeading && node.(*ast.Heading).Level == 1:
		case task == "" && node.Kind() == ast.KindParagraph:
			task = of.html(node)
		default:
			of.note(node)
		}
	}
	d.notes.Write(of.notes.Bytes())
	text, err := fill("slide-task.html", struct {
		Task     template.HTML
		ID, Href string
	}{task, p.exercise.ID(), relative(d.page.out, p.out)})
	if err != nil {
		d.found.add("%s: %v", p.file, err)
	}
	title := template.HTML(html.EscapeString(p.title))
	d.add(slide{Kind: "task", Over: "Exercise " + p.exercise.ID(), Title: title, Body: template.HTML(text)})
	d.found = append(d.found, of.found...)
}

// questions is one slide of all questions at the end of a chapter; the answers are its notes.
func (d *deck) questions(nodes []ast.Node) {
	var list strings.Builder
	for _, node := range nodes {
		block, ok := node.(*ast.HTMLBlock)
		if !ok {
			d.note(node)
			continue
		}
		if _, summary, ok := strings.Cut(rawText(block, d.page.body), "<summary>"); ok {
			question, _, _ := strings.Cut(summary, "</summary>")
			fmt.Fprintf(&list, "<li>%s</li>", question)
			fmt.Fprintf(&d.notes, "<p><b>%s</b></p>", question)
		}
	}
	if list.Len() > 0 {
		d.add(slide{Kind: "questions", Title: "Questions", Body: template.HTML("<ol>" + list.String() + "</ol>")})
	}
}

// end leads back to the chapter and on to the next deck.
func (d *deck) end() {
	type link struct{ Href, Title string }
	data := struct {
		Chapter, File link
		Next          *link
	}{
		Chapter: link{relative(d.page.out, d.page.out), d.page.short()},
		File:    link{relative(d.page.out, sourcePage(d.page.chapter.File)), d.page.chapter.File},
	}
	notes := template.HTML("<p>This is the last chapter.</p>")
	if next := d.site.chapterNumber(d.page.chapter.Number + 1); next != nil {
		data.Next = &link{relative(d.page.out, next.chapter.Dir+slidesPage), next.short()}
		notes = template.HTML("<p>The next chapter: " + html.EscapeString(next.short()) + ".</p>")
	}
	text, err := fill("slide-end.html", data)
	if err != nil {
		d.found.add("%s: %v", d.page.file, err)
	}
	d.add(slide{Kind: "end", Title: "Where to go on", Body: template.HTML(text), Notes: notes})
}

// writeSlides writes the deck of each chapter.
func (s *Site) writeSlides(public string) error {
	var found problems
	for _, p := range s.order {
		if p.chapter == nil {
			continue
		}
		slides, wrong := s.slidesOf(p)
		found = append(found, wrong...)
		out := p.chapter.Dir + slidesPage
		text, err := fill("slides.html", struct {
			Title, Root string
			Slides      []slide
		}{p.title, rootFrom(out), slides})
		if err != nil {
			return err
		}
		if err := write(filepath.Join(public, filepath.FromSlash(out)), text); err != nil {
			return err
		}
	}
	return found.err()
}

// plainLinks writes what is inside a link, and no comment.
type plainLinks struct{}

func (plainLinks) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	inside := func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkContinue, nil }
	to.Register(ast.KindLink, inside)
	to.Register(ast.KindHTMLBlock, inside)
}
