package course

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Parts names the parts of the course; part 1 is Parts[1].
var Parts = []string{1: "Watching", 2: "Queueing", 3: "Reconciling", 4: "Controllers", 5: "More controllers"}

// Chapter is what a chapter.yaml says, and where it is. The text beside it is the README.md,
// which begins with the title.
type Chapter struct {
	Number int    `json:"-"`
	Dir    string `json:"-"` // "chapters/01-list-watch"

	Title   string   `json:"title"`
	Part    int      `json:"part"`
	Minutes int      `json:"minutes"` // for a reader, with the exercise
	Needs   []string `json:"needs"`   // what a reader needs first: "chapter 5", "what a Service is for"
	After   string   `json:"after"`   // what a reader can do then: "find objects by any field"
	File    string   `json:"file"`    // the file of mini that it builds
	Also    []string `json:"also"`    // more files of mini that it prints; an exercise has one only
	Names   []string `json:"names"`   // the new names that a reader has to keep

	Exercise struct {
		Write []string `json:"write"` // what the learner writes; the rest of the file is given
		Race  bool     `json:"race"`  // run the tests with the race detector
	} `json:"exercise"`

	Poll Poll `json:"poll"` // before the naive program runs

	Upstream []Upstream `json:"upstream"` // the originals of which the chapter's texts tell
}

// Upstream is a file of the original that the library mirrors, or that a text sends its readers to.
type Upstream struct {
	Module  string   `json:"module"`
	Version string   `json:"version"`
	File    string   `json:"file"`
	Ours    []string `json:"ours"` // globs: the library's files that do what the original does
}

const (
	chaptersDir = "chapters"
	miniDir     = "mini"
)

// Readme is the chapter's text.
func (c Chapter) Readme() string { return path.Join(c.Dir, "README.md") }

// Task is the text of its exercise, if it has one.
func (c Chapter) Task() string { return path.Join(exercisesDir, path.Base(c.Dir), "README.md") }

// NeededChapter returns the number of the chapter that a need names, or 0 if it names something else.
func NeededChapter(need string) int {
	number, is := strings.CutPrefix(need, "chapter ")
	n, err := strconv.Atoi(number)
	if !is || err != nil {
		return 0
	}
	return n
}

// Texts are what the chapter's directory has to read: the README.md first, then what goes
// deeper, such as library.md.
func (r *Repo) Texts(c Chapter) (texts []string, err error) {
	entries, err := os.ReadDir(r.Abs(c.Dir))
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", c.Dir, err)
	}
	texts = []string{c.Readme()}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".md") && name != "README.md" {
			texts = append(texts, path.Join(c.Dir, name))
		}
	}
	return texts, nil
}

// Chapters reads every chapter, in order. What is wrong with single chapters is returned as
// problems next to the good ones.
func (r *Repo) Chapters() (chapters []Chapter, problems Problems, err error) {
	entries, err := os.ReadDir(r.Abs(chaptersDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("listing the chapters: %w", err)
	}
	for _, e := range entries {
		number := numberOf(e.Name())
		if !e.IsDir() || number == 0 {
			continue
		}
		c := Chapter{Number: number, Dir: path.Join(chaptersDir, e.Name())}
		text, err := r.read(c.Dir + "/chapter.yaml")
		if err == nil {
			err = yaml.UnmarshalStrict(text, &c)
		}
		if err == nil {
			_, err = r.read(c.Readme())
		}
		if err != nil {
			problems.add("reading %s: %v", c.Dir, err)
			continue
		}
		chapters = append(chapters, c)
	}
	slices.SortFunc(chapters, func(a, b Chapter) int { return a.Number - b.Number })
	return chapters, problems, nil
}

// written reads the chapters and insists that nothing's wrong with them.
func (r *Repo) written() ([]Chapter, error) {
	chapters, problems, err := r.Chapters()
	if err != nil {
		return nil, err
	}
	return chapters, problems.Err()
}

// numberOf returns 7 for "07-delay" and 0 for what is not so named.
func numberOf(name string) int {
	digits, _, ok := strings.Cut(name, "-")
	if !ok {
		return 0
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// FindChapter returns the chapter that a reader means by "7", "07" or "07-delay", or an error
// that lists those that there are.
func (r *Repo) FindChapter(name string) (Chapter, error) {
	chapters, err := r.written()
	if err != nil {
		return Chapter{}, err
	}
	for _, c := range chapters {
		if name == path.Base(c.Dir) || name == fmt.Sprint(c.Number) || name == fmt.Sprintf("%02d", c.Number) {
			return c, nil
		}
	}
	what := fmt.Sprintf("there is no chapter %q", name)
	if name == "" {
		what = "which chapter? Give its number, as in `make chapter-1`"
	}
	return Chapter{}, fmt.Errorf("%s; the chapters are:\n\n%s", what, ChapterTable(chapters))
}

// ChapterTable lists the chapters for a terminal.
func ChapterTable(chapters []Chapter) string {
	t := table{header: []string{"", "chapter", "part", "minutes", "builds"}}
	for _, c := range chapters {
		t.add(fmt.Sprintf("%2d", c.Number), c.Title, partName(c.Part), fmt.Sprint(c.Minutes), c.File)
	}
	return t.String()
}

func partName(part int) string {
	if part < 1 || part >= len(Parts) {
		return fmt.Sprint(part)
	}
	return fmt.Sprintf("%d %s", part, Parts[part])
}
