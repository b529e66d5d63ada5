package pages

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/loopwright/loopwright/xray"
	"sigs.k8s.io/yaml"
)

// static is what pages load beside what VitePress makes.
//
//go:embed static
var static embed.FS

// Write makes the book's pages in dir/pages and what they load in dir/public. What
// was there is replaced, but for public/figures, which another program writes.
func (s *Site) Write(dir string) error {
	pages, public := filepath.Join(dir, "pages"), filepath.Join(dir, "public")
	if err := removeOld(pages, public); err != nil {
		return fmt.Errorf("removing the last book: %w", err)
	}
	var found problems
	for i, p := range s.order {
		text, wrong, err := s.vitePage(i)
		found = append(found, wrong...)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(pages, filepath.FromSlash(strings.TrimSuffix(p.out, ".html")+".md")), text); err != nil {
			return err
		}
	}
	if err := found.err(); err != nil {
		return err
	}
	menu, err := json.MarshalIndent(s.menu, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the menu: %w", err)
	}
	if err := write(filepath.Join(pages, "menu.json"), string(menu)); err != nil {
		return err
	}
	if err := s.writeSources(public); err != nil {
		return err
	}
	if err := s.writeSlides(public); err != nil {
		return err
	}
	return s.writeStatic(public)
}

func removeOld(pages, public string) error {
	if err := os.RemoveAll(pages); err != nil {
		return err
	}
	entries, err := os.ReadDir(public)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != "figures" {
			if err := os.RemoveAll(filepath.Join(public, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeStatic copies the pictures of the texts, and writes their recordings and what all pages load.
func (s *Site) writeStatic(public string) error {
	for picture := range s.pictures {
		text, err := os.ReadFile(s.repo.Abs(picture))
		if err != nil {
			return fmt.Errorf("copying %s: %w", picture, err)
		}
		file := filepath.Join(public, filepath.FromSlash(picture))
		if err := write(file, string(text)); err != nil {
			return err
		}
		if still := stillOf(file); still != file {
			if err := writeStill(text, still); err != nil {
				return fmt.Errorf("making a still of %s: %w", picture, err)
			}
		}
	}
	for recording := range s.recordings {
		text, err := os.ReadFile(s.repo.Abs(recording))
		if err != nil {
			return fmt.Errorf("showing %s: %w", recording, err)
		}
		name := strings.ReplaceAll(strings.TrimPrefix(recording, "chapters/"), "/testdata/", " ")
		page := string(xray.Page(name, text))
		if err := write(filepath.Join(public, filepath.FromSlash(recordingPage(recording))), page); err != nil {
			return err
		}
	}
	switched, followed, err := colors()
	if err != nil {
		return err
	}
	if err := write(filepath.Join(public, "book", "code.css"), switched); err != nil {
		return err
	}
	return fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		if entry.Name() == "source.css" {
			text = append([]byte(followed), text...)
		}
		return write(filepath.Join(public, "book", entry.Name()), string(text))
	})
}

// frontMatter is what VitePress wants to know about a page.
type frontMatter struct {
	Layout      string `json:"layout,omitempty"`
	Title       string `json:"title"`
	Template    any    `json:"titleTemplate,omitempty"`
	Description string `json:"description,omitempty"`
	Source      string `json:"source"` // the text, for the link to it
	PageClass   string `json:"pageClass,omitempty"`
	Sidebar     *bool  `json:"sidebar,omitempty"` // false is none; so is Aside's
	Aside       *bool  `json:"aside,omitempty"`
	Prev        any    `json:"prev"`
	Next        any    `json:"next"`
	Hero        *hero  `json:"hero,omitempty"`
}

type hero struct {
	Name    string   `json:"name"`
	Text    string   `json:"text"`
	Tagline string   `json:"tagline"`
	Actions []action `json:"actions"`
}

type action struct {
	Theme string `json:"theme"`
	Text  string `json:"text"`
	Link  string `json:"link"`
}

type neighbour struct {
	Text string `json:"text"`
	Link string `json:"link"`
}

// vitePage is a page as VitePress reads it: front matter, and one block of HTML.
func (s *Site) vitePage(at int) (string, problems, error) {
	p := s.order[at]
	text, found := s.text(p)
	matter := frontMatter{Title: p.title, Description: p.description, Source: p.file, Prev: false, Next: false}
	if at > 0 {
		matter.Prev = neighbour{s.order[at-1].short(), "/" + s.order[at-1].url()}
	}
	if at+1 < len(s.order) {
		matter.Next = neighbour{s.order[at+1].short(), "/" + s.order[at+1].url()}
	}
	switch {
	case p.file == home:
		matter.Layout, matter.Template, matter.Hero = "home", false, s.hero(p)
	case p.chapter != nil:
		matter.PageClass = "is-chapter"
	case p.exercise != nil:
		matter.PageClass = "is-exercise"
	case p.file == playground:
		matter.PageClass, matter.Sidebar, matter.Aside = "is-playground", new(false), new(false)
	}
	header, err := yaml.Marshal(matter)
	if err != nil {
		return "", nil, fmt.Errorf("writing the front matter of %s: %w", p.file, err)
	}
	element := "div"
	if p.file == home {
		element = "main" // VitePress has one on all other pages
	}
	return fmt.Sprintf("---\n%s---\n\n<%s v-pre class=\"text\">\n%s</%s>\n", header, element, withoutBlankLines(text), element), found, nil
}

// hero is the top of the start page: what this is, and its three doors. The cluster that runs below it is its picture.
func (s *Site) hero(p *page) *hero {
	h := &hero{Name: p.title, Text: "Kubernetes controllers, from the inside", Tagline: p.about}
	for _, first := range s.order {
		if first.chapter != nil {
			h.Actions = append(h.Actions, action{"brand", "Begin with chapter 1", "/" + first.url()})
			break
		}
	}
	for _, door := range []struct{ file, text string }{{playground, "Break a rollout"}, {porting, "Port your operator"}} {
		if to := s.pages[door.file]; to != nil {
			h.Actions = append(h.Actions, action{"alt", door.text, "/" + to.url()})
		}
	}
	return h
}

// short is the name of a page in a link to the next one.
func (p *page) short() string {
	switch {
	case p.chapter != nil:
		return fmt.Sprintf("%d. %s", p.chapter.Number, p.chapter.Title)
	case p.exercise != nil:
		return "Exercise: " + p.exercise.Title
	default:
		return p.title
	}
}

// withoutBlankLines writes the blank lines of code as entities. In Markdown a blank
// line would end the block of HTML, and what follows would be Markdown again.
func withoutBlankLines(text string) string {
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case i == 0:
		case strings.TrimSpace(line) == "":
			out.WriteString("&#10;")
		default:
			out.WriteByte('\n')
		}
		out.WriteString(line)
	}
	out.WriteByte('\n')
	return out.String()
}
