package course

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// page is a chapter of the book about mini: what its chapter.yaml says. The text beside it
// is the README.md, which begins with the title.
type page struct {
	Title   string   `json:"title"`
	Part    int      `json:"part"`
	Minutes int      `json:"minutes"` // for a reader, with the exercise
	File    string   `json:"file"`    // the file of mini that it builds
	Names   []string `json:"names"`   // the new names that a reader has to keep

	Exercise struct {
		Write StringList `json:"write"` // what the learner writes; the rest of the file is given
		Race  bool       `json:"race"`  // run the tests with the race detector
	} `json:"exercise"`
}

// miniOrder are the files of mini, in the order of the chapters.
var miniOrder = []string{
	"listwatch", "store", "reflector", "informer", "shared",
	"queue", "delay",
	"controller", "events", "client", "cache", "first", "lease", "manager", "finalizer", "webhook",
	"owner", "ranking", "replicaset", "template", "rolling", "scaling", "deployment", "endpoints", "graph", "garbage",
}

// laterThan returns the files of mini that come after file, tests too.
func (r *Repo) laterThan(file string) (later []string, err error) {
	at := slices.Index(miniOrder, strings.TrimSuffix(path.Base(file), ".go"))
	if at < 0 {
		return nil, fmt.Errorf("%s is not in the order of mini's files", file)
	}
	for _, name := range miniOrder[at+1:] {
		for _, ending := range []string{".go", "_test.go", "_bench_test.go"} {
			if f := "mini/" + name + ending; r.has(f) {
				later = append(later, f)
			}
		}
	}
	return later, nil
}

// The budgets of a page: what somebody can take in at one sitting.
const (
	maxWords   = 3000
	maxNames   = 12
	maxMinutes = 90
	maxColumns = 90 // of code: wider lines scroll sideways in the book
)

const bookDir = "mini/book"

// checkPages holds each page of the book to its budgets, and proves that it prints every line of
// its file, once.
func (r *Repo) checkPages() (Problems, error) {
	names, err := r.numbered(bookDir)
	if err != nil {
		return nil, err
	}
	var problems Problems
	for _, name := range names {
		dir := path.Join(bookDir, name)
		p, text, err := r.page(dir)
		if err != nil {
			problems.add("%v", err)
			continue
		}
		problems = append(problems, p.check(dir, text)...)
		source, err := r.read(p.File)
		if err != nil {
			problems.add("%s/chapter.yaml: its file: %v", dir, err)
			continue
		}
		problems = append(problems, checkPrinted(dir+"/README.md", text, p.File, string(source))...)
	}
	return problems, nil
}

func (r *Repo) page(dir string) (p page, text string, err error) {
	meta, err := r.read(dir + "/chapter.yaml")
	if err != nil {
		return p, "", fmt.Errorf("reading a chapter of the book: %w", err)
	}
	if err := yaml.UnmarshalStrict(meta, &p); err != nil {
		return p, "", fmt.Errorf("reading %s/chapter.yaml: %w", dir, err)
	}
	body, err := r.read(dir + "/README.md")
	if err != nil {
		return p, "", fmt.Errorf("reading a chapter of the book: %w", err)
	}
	return p, string(body), nil
}

// check holds the text to the budgets.
func (p page) check(dir, text string) (problems Problems) {
	readme := dir + "/README.md"
	if title := fmt.Sprintf("# %d. %s\n", numberOf(path.Base(dir)), p.Title); !strings.HasPrefix(text, title) {
		problems.add("%s does not begin with %q", readme, strings.TrimSpace(title))
	}
	prose, code := proseAndCode(text)
	if n := len(strings.Fields(prose)); n > maxWords {
		problems.add("%s has %d words, and at most %d are read at one sitting: move details to library.md", readme, n, maxWords)
	}
	for _, line := range code {
		if width := len([]rune(strings.ReplaceAll(line, "\t", "    "))); width > maxColumns {
			problems.add("%s: %d columns, and more than %d scroll sideways: %s", readme, width, maxColumns, strings.TrimSpace(line))
		}
	}
	if len(p.Names) > maxNames {
		problems.add("%s has %d new names, and a reader can keep %d", readme, len(p.Names), maxNames)
	}
	for _, name := range p.Names {
		if !strings.Contains(prose, name) {
			problems.add("%s does not explain %q, which chapter.yaml lists under names", readme, name)
		}
	}
	if p.Minutes < 1 || p.Minutes > maxMinutes {
		problems.add("%s/chapter.yaml: want 1 to %d minutes, got %d", dir, maxMinutes, p.Minutes)
	}
	return problems
}

// proseAndCode takes a Markdown text apart: into its words, and its Go code.
func proseAndCode(text string) (prose string, code []string) {
	var words strings.Builder
	fence, language := "", ""
	for line := range strings.SplitSeq(text, "\n") {
		switch f := fenceOf(line); {
		case fence == "" && f != "":
			fence, language = f, strings.TrimPrefix(strings.TrimSpace(line), f)
		case fence != "" && strings.HasPrefix(strings.TrimSpace(line), fence):
			fence = ""
		case fence != "":
			if language == "go" {
				code = append(code, line)
			}
		default:
			if _, ok := comment(line); !ok {
				words.WriteString(line + "\n")
			}
		}
	}
	return words.String(), code
}

// snippetOf finds the markers of a page.
var snippetOf = regexp.MustCompile(`(?m)^<!-- snippet file=(\S+) symbol=(\S+)[^>]*-->$`)

// checkPrinted proves that the page prints each line of the file once: the book is the program.
func checkPrinted(readme, text, file, source string) (problems Problems) {
	printed := make([]int, strings.Count(source, "\n")+1) // how often, of each line
	for _, m := range snippetOf.FindAllStringSubmatch(text, -1) {
		if m[1] != file {
			continue
		}
		from, to, err := symbolRange(file, source, m[2], true)
		if err != nil {
			return append(problems, fmt.Sprintf("%s: %v", readme, err))
		}
		first := strings.Count(source[:from], "\n")
		for i := range strings.Count(source[from:to], "\n") + 1 {
			printed[first+i]++
		}
	}
	for i, line := range strings.Split(source, "\n") {
		switch n := printed[i]; {
		case n > 1:
			problems.add("%s prints %s:%d %d times: %s", readme, file, i+1, n, line)
		case n == 0 && strings.TrimSpace(line) != "":
			problems.add("%s does not print %s:%d: %s", readme, file, i+1, line)
		}
	}
	return problems
}

// miniTable lists the files of mini in order, with their lines without comments and blanks, and
// the pages of the book that there are.
func (d *document) miniTable() (string, error) {
	names, err := d.repo.numbered(bookDir)
	if err != nil {
		return "", err
	}
	t := table{header: []string{"", "File", "Lines", "Chapter"}}
	all := 0
	for i, name := range miniOrder {
		file := "mini/" + name + ".go"
		source, err := d.repo.read(file)
		if err != nil {
			return "", fmt.Errorf("counting the lines of mini: %w", err)
		}
		lines := linesOfCode(string(source))
		all += lines
		chapter := ""
		for _, page := range names {
			if numberOf(page) == i+1 {
				p, _, err := d.repo.page(path.Join(bookDir, page))
				if err != nil {
					return "", err
				}
				chapter = fmt.Sprintf("[%s](%s)", p.Title, d.relative(path.Join(bookDir, page, "README.md")))
			}
		}
		t.add(fmt.Sprint(i+1), fmt.Sprintf("[%s.go](%s)", name, d.relative(file)), fmt.Sprint(lines), chapter)
	}
	t.add("", "", fmt.Sprint(all), "")
	return t.Markdown(), nil
}

// linesOfCode counts the lines that are neither blank nor a comment.
func linesOfCode(source string) (n int) {
	for line := range strings.SplitSeq(source, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}
