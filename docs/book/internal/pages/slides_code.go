package pages

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// What a slide has room for, in letters that the last row can read.
const (
	slideRows    = 17
	slideColumns = 90 // as the texts have; `course check` counts them
)

// block makes slides of a fenced block: a diagram, what a program printed, or code.
func (d *deck) block(node *ast.FencedCodeBlock) {
	language := string(node.Language(d.page.body))
	source := strings.TrimRight(string(node.Lines().Value(d.page.body)), "\n")
	if language == diagramLanguage {
		d.add(slide{Kind: "picture", Title: d.title(), Body: template.HTML(
			`<div class="diagram"><pre class="diagram-source"><code>` + html.EscapeString(source) + `</code></pre></div>`)})
		return
	}
	if _, ok := marked(node, outputMarker); ok {
		d.printed(source)
		return
	}
	snippet, ok := marked(node, snippetMarker)
	if !ok {
		d.code(slide{Title: d.title()}, "", language, source)
		return
	}
	file, symbol := snippet["file"], snippet["symbol"]
	source = strings.TrimPrefix(source, "// "+file+"\n\n")
	piece := slide{Over: d.section, Title: template.HTML("<code>" + html.EscapeString(symbol) + "</code>")}
	switch {
	case symbol == "imports":
		// A class does not read them; the prose about them is for the next slide.
	case symbol == "":
		d.code(slide{Title: d.title()}, file, language, source)
	case snippet["body"] == "false":
		d.promise, _ = leadingComment(source)
	case file == d.page.chapter.File && slices.Contains(d.page.chapter.Exercise.Write, symbol):
		d.exercise(piece, file, source)
	default:
		d.code(piece, file, language, source)
	}
}

// code adds a slide for each part of a piece of code. If it needs more than one, its comment is for the notes.
func (d *deck) code(s slide, file, language, source string) {
	if strings.Count(source, "\n") >= slideRows && language == "go" {
		comment, code := leadingComment(source)
		fmt.Fprintf(&d.notes, "<pre>%s</pre>", html.EscapeString(comment))
		source = code
	}
	for _, s := range d.codeSlides(s, file, language, source) {
		d.add(s)
	}
}

// codeSlides are the parts of a piece of code. All of them have the notes of the first.
func (d *deck) codeSlides(s slide, file, language, source string) (all []slide) {
	s.Kind = "code"
	lines, err := highlight(language, source)
	if err != nil {
		d.found.add("%s: %v", d.page.file, err)
	}
	plain := strings.Split(source, "\n")
	cut := parts(plain, cutCost)
	first := 0
	notes := template.HTML(d.notes.String())
	for i, part := range cut {
		one := s
		if len(cut) > 1 {
			one.Title += template.HTML(fmt.Sprintf(` <small>%d of %d</small>`, i+1, len(cut)))
		}
		if i > 0 {
			one.Notes = notes
		}
		one.Body = codeOf(file, sizeOf(cut), lines[first:first+len(part)])
		first += len(part)
		all = append(all, one)
	}
	return all
}

func codeOf(file, size string, lines []string) template.HTML {
	bar := ""
	if file != "" {
		bar = `<div class="file">` + html.EscapeString(file) + `</div>`
	}
	return template.HTML(`<pre class="chroma ` + size + `"><code>` + strings.Join(lines, "\n") + `</code></pre>` + bar)
}

// sizeOf says how large the letters of all parts can be: a class for the style sheet.
func sizeOf(parts [][]string) string {
	rows, columns := 0, 0
	for _, part := range parts {
		rows = max(rows, len(part))
		for _, line := range part {
			columns = max(columns, len([]rune(strings.ReplaceAll(line, "\t", "    "))))
		}
	}
	switch {
	case columns > slideColumns:
		return "small"
	case columns <= 70 && rows <= 13:
		return "large"
	case columns <= 80 && rows <= 14:
		return "middle"
	default:
		return ""
	}
}

// exercise shows what a function promises, and not how: learners will write it. The down key shows the code.
func (d *deck) exercise(s slide, file, code string) {
	signature := []string{}
	for line := range strings.SplitSeq(code, "\n") {
		signature = append(signature, line)
		if strings.HasSuffix(line, "{") || strings.HasSuffix(line, "}") {
			break
		}
	}
	last := &signature[len(signature)-1]
	if head, _, ok := strings.Cut(*last, "{ "); ok {
		*last = head + "{"
	}
	shown := strings.Join(signature, "\n") + "\n\t// You write this.\n}"
	if d.promise != "" {
		shown = d.promise + "\n" + shown
	}
	below := d.codeSlides(s, file, "go", code)
	below[0].Notes = template.HTML(d.notes.String())
	s.Over += ": in the exercise, you write this"
	top := d.codeSlides(s, file, "go", shown)
	top[0].Body += `<p class="down">↓ shows the code</p>`
	for i, one := range top {
		if i == len(top)-1 {
			one.Below = below
		}
		d.add(one)
	}
}

// leadingComment parts a declaration from the comment above it.
func leadingComment(source string) (comment, code string) {
	lines := strings.Split(source, "\n")
	end := 0
	for end < len(lines) && strings.HasPrefix(lines[end], "//") {
		end++
	}
	return strings.Join(lines[:end], "\n"), strings.Join(lines[end:], "\n")
}

// columns finds the space between the columns of a timeline, which is too wide for a slide.
var columns = regexp.MustCompile(`(\S) {3,}`)

// printed shows what a program printed, without what all programs print: their own name, the cluster, and that it stays up.
func (d *deck) printed(source string) {
	lines := strings.Split(source, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "Cluster: ") {
			lines = lines[i+1:]
			break
		}
	}
	for i, line := range lines {
		if strings.HasPrefix(line, "Cleaned up: ") {
			lines = lines[:i]
			break
		}
	}
	wide := slices.ContainsFunc(lines, func(line string) bool { return len([]rune(line)) > slideColumns })
	var rows []string
	for _, line := range lines {
		line = strings.TrimRight(line, " ")
		if line == "" && (len(rows) == 0 || rows[len(rows)-1] == "") {
			continue // an empty step has two blank lines
		}
		if wide {
			line = columns.ReplaceAllString(line, "$1  ")
		}
		rows = append(rows, wrap(line, slideColumns)...)
	}
	if last := len(rows) - 1; last >= 0 && rows[last] == "" {
		rows = rows[:last]
	}
	command := strings.TrimPrefix(d.fold, "Run it: ")
	cut := parts(rows, stepCost)
	notes := template.HTML(d.notes.String())
	for i, part := range cut {
		s := slide{Kind: "printed", Over: "Run it", Title: template.HTML(command)}
		if len(cut) > 1 {
			s.Title += template.HTML(fmt.Sprintf(` <small>%d of %d</small>`, i+1, len(cut)))
		}
		if i > 0 {
			s.Notes = notes
		}
		s.Body = template.HTML(`<pre class="` + sizeOf(cut) + `">` + html.EscapeString(strings.Trim(strings.Join(part, "\n"), "\n")) + `</pre>`)
		d.add(s)
	}
}

// continued is what the rest of a line begins with that was too wide.
const continued = "        "

// wrap breaks a line that is too wide between words. What has no break stays as it is.
func wrap(line string, columns int) (rows []string) {
	for len([]rune(line)) > columns {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		at := strings.LastIndex(string([]rune(line)[:columns]), " ")
		if at < indent {
			break
		}
		rows = append(rows, strings.TrimRight(line[:at], " "))
		line = continued + strings.TrimLeft(line[at:], " ")
	}
	return append(rows, line)
}

// parts cuts what a slide has no room for, where the code has a break: with as few parts and as little harm as can be.
func parts(lines []string, costOf func(before, after string) int) [][]string {
	const (
		onePart = 8  // what another slide costs, in the measure of costOf
		uneven  = 20 // the larger, the less does it matter whether parts are of one size
	)
	cost := make([]int, len(lines)+1) // of the best way to cut the lines before this one
	from := make([]int, len(lines)+1) // where the last part of that way begins
	for end := 1; end <= len(lines); end++ {
		cost[end] = math.MaxInt
		for begin := max(0, end-slideRows); begin < end; begin++ {
			c := cost[begin] + onePart + (end-begin)*(end-begin)/uneven
			if begin > 0 {
				c += costOf(lines[begin-1], lines[begin])
			}
			if c < cost[end] {
				cost[end], from[end] = c, begin
			}
		}
	}
	var cut [][]string
	for end := len(lines); end > 0; end = from[end] {
		cut = append(cut, lines[from[end]:end])
	}
	slices.Reverse(cut)
	return cut
}

// cutCost is how bad it is to part two lines. The deeper they are in the code, the worse.
func cutCost(before, after string) int {
	text := strings.TrimLeft(after, "\t ")
	depth := len(strings.ReplaceAll(after[:len(after)-len(text)], "\t", "    ")) / 4
	if before == "" {
		return depth
	}
	switch {
	case strings.HasPrefix(text, "}") || strings.HasPrefix(text, ")") || text == "":
		return 100 // an end without its beginning
	case strings.HasPrefix(strings.TrimSpace(before), "//"):
		return 100 // a comment without its code
	case strings.HasPrefix(text, "if err") && !strings.HasPrefix(text, "if err :="):
		return 4*depth + 4 // an error without the call
	}
	return 4 * depth
}

// stepCost parts what a program printed where a step begins: "2. A user deletes the banana".
func stepCost(_, after string) int {
	if after != "" && after[0] >= '0' && after[0] <= '9' {
		return 0
	}
	return 20
}
