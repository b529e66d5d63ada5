package course

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// Sync brings every Markdown file up to date with the code: snippets, recorded
// output and generated tables. It returns the files that it changed.
func (r *Repo) Sync() (changed []string, err error) {
	err = r.eachMarkdown(func(file, old, filled string) error {
		if old == filled {
			return nil
		}
		changed = append(changed, file)
		if err := os.WriteFile(r.Abs(file), []byte(filled), 0o644); err != nil {
			return fmt.Errorf("bringing %s up to date: %w", file, err)
		}
		return nil
	})
	return changed, err
}

// checkText reports, as a diff, each Markdown file that Sync would change, and
// each link that leads nowhere.
func (r *Repo) checkText() (Problems, error) {
	var problems Problems
	err := r.eachMarkdown(func(file, old, filled string) error {
		if old != filled {
			problems.add("%s does not show the code as it is: run `make sync` (course sync); it would change\n%s", file, unified(file, file+" (after sync)", old, filled))
		}
		problems = append(problems, r.deadLinks(file, old)...)
		return nil
	})
	var broken brokenMarkers
	if errors.As(err, &broken) {
		return append(problems, broken...), nil
	}
	return problems, err
}

// brokenMarkers are markers that cannot be filled in. The rest of the files
// is handled all the same.
type brokenMarkers Problems

func (b brokenMarkers) Error() string { return Problems(b).Err().Error() }

func (r *Repo) eachMarkdown(visit func(file, old, filled string) error) error {
	chapters, problems, err := r.Chapters()
	if err != nil {
		return err
	}
	files, err := r.Markdown()
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := r.read(file)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		d := document{repo: r, file: file, chapters: chapters}
		filled := d.fill(string(text))
		problems = append(problems, d.problems...)
		if err := visit(file, string(text), filled); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return brokenMarkers(problems)
	}
	return nil
}

// Markdown lists the Markdown files of the tree, sorted, without those of testdata.
func (r *Repo) Markdown() (files []string, err error) {
	err = r.walk(func(file string) error {
		if strings.HasSuffix(file, ".md") {
			files = append(files, file)
		}
		return nil
	}, func(_, name string) bool { return name == "testdata" })
	return files, err
}

// document fills the markers of one Markdown file.
type document struct {
	repo     *Repo
	file     string
	chapters []Chapter
	problems Problems
	lines    []string
	at       int // the next line to read
	out      []string
}

// fill goes through the file once. Markers inside a fenced block are text, so
// that a guide can show what a marker looks like.
func (d *document) fill(text string) string {
	d.lines = strings.Split(text, "\n")
	for d.at < len(d.lines) {
		line := d.lines[d.at]
		if fence := fenceOf(line); fence != "" {
			d.out = append(d.out, d.block(fence)...)
			continue
		}
		d.out = append(d.out, line)
		d.at++
		inner, ok := comment(line)
		if !ok {
			continue
		}
		switch word, args, _ := strings.Cut(inner, " "); {
		case word == "snippet" || word == "output" || word == "diff":
			d.fillFence(word, args)
		case strings.HasPrefix(word, "course:"):
			d.fillGenerated(strings.TrimPrefix(word, "course:"))
		}
	}
	return strings.Join(d.out, "\n")
}

// fillFence writes the block that follows a snippet, output or diff marker. One that
// cannot be filled keeps what it had.
func (d *document) fillFence(word, args string) {
	line := d.at
	text, language, err := d.content(word, args)
	next := d.at
	for next < len(d.lines) && strings.TrimSpace(d.lines[next]) == "" {
		next++
	}
	var old []string
	if next < len(d.lines) && fenceOf(d.lines[next]) != "" {
		d.at = next
		old = d.block(fenceOf(d.lines[next]))
	}
	if err != nil {
		d.problems.add("%s:%d: %s %s: %v", d.file, line, word, args, err)
		d.out = append(d.out, old...)
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	d.out = append(d.out, fence+language)
	d.out = append(d.out, strings.Split(text, "\n")...)
	d.out = append(d.out, fence)
}

// content returns what a marker asks for, and the language of its block.
func (d *document) content(word, args string) (text, language string, err error) {
	keys := map[string]string{}
	for _, arg := range strings.Fields(args) {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return "", "", fmt.Errorf("%q is not of the form key=value", arg)
		}
		keys[key] = value
	}
	if word == "diff" {
		text, err = d.repo.change(keys["from"], keys["to"], keys["symbols"], keys["context"] == "false")
		return text, "diff", err
	}
	file := keys["file"]
	if word == "output" {
		file = path.Join(path.Dir(d.file), file)
	}
	source, err := d.repo.read(file)
	if err != nil {
		return "", "", fmt.Errorf("the file does not exist or cannot be read: %w", err)
	}
	if word == "output" {
		return strings.TrimRight(string(source), "\n"), "text", nil
	}
	switch {
	case keys["symbol"] != "":
		text, err = cutSymbol(file, string(source), keys["symbol"], keys["doc"] != "false", keys["body"] != "false")
	case keys["region"] != "":
		text, err = cutRegion(file, string(source), keys["region"])
	default:
		text = strings.TrimRight(withoutRegions(string(source)), "\n")
	}
	language = strings.TrimPrefix(path.Ext(file), ".")
	if keys["title"] != "false" && language == "go" {
		text = "// " + file + "\n\n" + text
	}
	return text, language, err
}

// fillGenerated replaces all lines up to the closing marker.
func (d *document) fillGenerated(name string) {
	end := d.at
	for end < len(d.lines) {
		if inner, ok := comment(d.lines[end]); ok && inner == "/course:"+name {
			break
		}
		end++
	}
	if end == len(d.lines) {
		d.problems.add("%s:%d: there is no closing <!-- /course:%s -->", d.file, d.at, name)
		return
	}
	text, err := d.generated(name)
	if err != nil { // what is there stays
		d.problems.add("%s:%d: course:%s: %v", d.file, d.at, name, err)
		return
	}
	d.out = append(d.out, "", strings.TrimRight(text, "\n"), "")
	d.at = end
}

func (d *document) generated(name string) (string, error) {
	if name == "chapters" {
		return d.chapterTable(), nil
	}
	if workshop, ok := strings.CutPrefix(name, "agenda-"); ok {
		return d.agenda(workshop)
	}
	switch name {
	case "originals":
		return d.originals()
	case "mini":
		return d.miniTable()
	case "ways":
		return d.ways()
	case "written":
		return d.writtenTable()
	}
	return "", errors.New("there is no such block; course:chapters, course:mini, course:originals, course:ways, course:written and course:agenda-NAME are generated")
}

func (d *document) chapterTable() string {
	t := table{header: []string{"", "Chapter", "Afterwards you can", "Part", "Minutes"}}
	for _, c := range d.chapters {
		t.add(fmt.Sprintf("%02d", c.Number), fmt.Sprintf("[%s](%s)", c.Title, d.relative(c.Readme())), c.After, partName(c.Part), fmt.Sprint(c.Minutes))
	}
	return t.Markdown()
}

// block returns the fenced block that starts at the current line, and moves
// behind it.
func (d *document) block(fence string) []string {
	start := d.at
	for d.at++; d.at < len(d.lines); d.at++ {
		line := strings.TrimSpace(d.lines[d.at])
		if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
			d.at++
			break
		}
	}
	return d.lines[start:d.at]
}

// fenceOf returns the backticks or tildes that open a fenced block.
func fenceOf(line string) string {
	line = strings.TrimSpace(line)
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// comment returns what is inside an HTML comment that fills the whole line.
func comment(line string) (string, bool) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(line), "<!--")
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, "-->")
	return strings.TrimSpace(inner), ok
}
