package course

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Check holds the whole tree against what chapters and exercises claim, and
// returns everything that is wrong. It builds nothing.
func (r *Repo) Check(ctx context.Context) (Problems, error) {
	problems, err := r.CheckStructure(ctx)
	if err != nil {
		return nil, err
	}
	text, err := r.checkText()
	if err != nil {
		return nil, err
	}
	for _, p := range text {
		// A chapter.yaml that cannot be read is found by both.
		if !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	return problems, nil
}

// CheckStructure is Check without the text: chapters, exercises, imports, the
// originals and what mirrors them.
func (r *Repo) CheckStructure(ctx context.Context) (Problems, error) {
	chapters, problems, err := r.Chapters()
	if err != nil {
		return nil, err
	}
	problems = append(problems, r.checkChapters(chapters)...)
	problems = append(problems, r.checkGlossary(chapters)...)
	exercises, more, err := r.Exercises()
	if err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	for _, e := range exercises {
		problems = append(problems, r.checkExercise(e)...)
	}
	files, err := r.GoFiles()
	if err != nil {
		return nil, err
	}
	problems = append(problems, r.checkOrder(files)...)
	if more, err = r.checkImports(files); err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	problems = append(problems, checkOriginals(chapters, files)...)
	if more, err = r.checkUpstream(ctx, chapters); err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	if more, err = r.checkPhrases(); err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	more, err = r.checkIgnored(ctx)
	return append(problems, more...), err
}

// checkExercise proves, without a compiler, that the stub can be made, that a learner who is
// stuck has a hint, that every wrong solution holds only what differs, and that no test sends a
// learner to a function in which the mistake is not. A task that goes further is whole.
func (r *Repo) checkExercise(e Exercise) (problems Problems) {
	if len(e.Hints) == 0 {
		problems.add("%s needs a fold with the summary \"Hint 1\" for a learner who is stuck", e.Text())
	}
	if _, err := r.stub(e); err != nil {
		problems.add("exercise %d: %v", e.Number, err)
	}
	problems = append(problems, r.checkFurther(e)...)
	judged, err := r.judged(e)
	if err != nil {
		problems.add("%v", err)
	}
	for _, test := range sortedKeys(judged) {
		if !slices.Contains(e.Function, judged[test]) {
			problems.add("the comment on %s names the function %s, which exercise %d does not ask for", test, judged[test], e.Number)
		}
	}
	files, err := r.wrongFiles(e)
	if err != nil {
		problems.add("%v", err)
	}
	for _, file := range files {
		if _, err := r.bugOf(file); err != nil {
			problems.add("%v", err)
		}
		s, err := r.wrong(e, file)
		if err != nil {
			problems.add("exercise %d: %v", e.Number, err)
			continue
		}
		test := s.caughtBy()
		if _, found := s.patch.Find(judged[test]); judged[test] != "" && !found {
			problems.add("exercise %d: %s has its mistake elsewhere than in %s, to which the comment on %s sends a learner: leave the line out", e.Number, path.Base(file), judged[test], test)
		}
	}
	return problems
}

// checkIgnored proves that `go build ./...` leaves out what compiles only in
// place of another file. The go command knows `ignore` since Go 1.25.
func (r *Repo) checkIgnored(ctx context.Context) (Problems, error) {
	mods, err := r.goMods(ctx)
	if err != nil {
		return nil, err
	}
	for _, ignored := range mods["go.mod"].Ignore {
		if ignored.Path == "./"+myDir {
			return nil, nil
		}
	}
	return Problems{"go.mod lacks ignore ./my: the files there compile only in place of a reference file, so `go build ./...` must not see them"}, nil
}

// The budgets of a chapter: what somebody can take in at one sitting.
const (
	maxWords   = 3000
	onePage    = 1500 // words of a chapter of the last part, with a whole controller in each
	maxNames   = 12
	maxMinutes = 90
	maxAfter   = 72 // characters, so that it's a line in the table
	maxColumns = 90 // of code: wider lines scroll sideways in the book
)

// checkChapters holds each chapter to its budgets, and proves that it prints every line of
// its file, once.
func (r *Repo) checkChapters(chapters []Chapter) (problems Problems) {
	for i, c := range chapters {
		if c.Number != i+1 {
			problems.add("%s is the %d. chapter: number the chapters from 1 without gaps", c.Dir, i+1)
		}
		text, err := r.read(c.Readme())
		if err != nil {
			problems.add("%v", err)
			continue
		}
		problems = append(problems, c.check(string(text))...)
		problems = append(problems, c.checkPoll()...)
		for _, page := range []string{c.Task(), path.Join(c.Dir, "library.md")} { // a chapter need not have them
			if text, err := r.read(page); err == nil {
				prose, _ := proseAndCode(string(text))
				problems = append(problems, checkWords(page, prose)...)
			}
		}
		for _, file := range append([]string{c.File}, c.Also...) {
			source, err := r.read(file)
			if err != nil {
				problems.add("%s/chapter.yaml: its file: %v", c.Dir, err)
				continue
			}
			problems = append(problems, checkPrinted(c.Readme(), string(text), file, string(source))...)
		}
	}
	return problems
}

// costs is where a chapter quotes its benchmark.
const costs = "<!-- output file=testdata/bench.txt -->"

const glossaryFile = "docs/glossary.md"

// term finds the terms of the glossary: "- **adoption, release**: ...".
var term = regexp.MustCompile(`(?m)^- \*\*(.+?)\*\*`)

// checkGlossary proves that each name that a chapter introduces can be looked up.
func (r *Repo) checkGlossary(chapters []Chapter) (problems Problems) {
	text, err := r.read(glossaryFile)
	if err != nil {
		return Problems{err.Error()}
	}
	terms := map[string]bool{}
	for _, m := range term.FindAllStringSubmatch(string(text), -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			terms[strings.ToLower(strings.TrimSpace(name))] = true
		}
	}
	for _, c := range chapters {
		for _, name := range c.Names {
			if !terms[strings.ToLower(name)] {
				problems.add("%s has no entry for %q, which %s/chapter.yaml lists under names", glossaryFile, name, c.Dir)
			}
		}
	}
	return problems
}

// picture finds the pictures of a text.
var picture = regexp.MustCompile(`(?m)^!\[.*\]\(.*\)$`)

// check holds the text to the budgets.
func (c Chapter) check(text string) (problems Problems) {
	readme := c.Readme()
	if title := fmt.Sprintf("# %d. %s\n", c.Number, c.Title); !strings.HasPrefix(text, title) {
		problems.add("%s does not begin with %q", readme, strings.TrimSpace(title))
	}
	prose, code := proseAndCode(text)
	problems = append(problems, checkWords(readme, prose)...)
	problems = append(problems, c.checkFolded(text)...)
	if !strings.Contains(text, costs) {
		problems.add("%s doesn't say what it costs: let it quote the figures that `make bench-texts CHAPTER=%d` writes, with %s", readme, c.Number, costs)
	}
	// What a picture says is for those who can't see it. If it counted, it would be kept short.
	n, most := len(strings.Fields(picture.ReplaceAllString(prose, ""))), maxWords
	if c.Part == len(Parts)-1 {
		most = onePage
	}
	if n > most {
		problems.add("%s has %d words, and at most %d are read at one sitting: move details to library.md", readme, n, most)
	}
	for _, line := range code {
		if width := len([]rune(strings.ReplaceAll(line, "\t", "    "))); width > maxColumns {
			problems.add("%s: %d columns, and more than %d scroll sideways: %s", readme, width, maxColumns, strings.TrimSpace(line))
		}
	}
	if len(c.Names) > maxNames {
		problems.add("%s has %d new names, and a reader can keep %d", readme, len(c.Names), maxNames)
	}
	for _, name := range c.Names {
		if !strings.Contains(prose, name) {
			problems.add("%s does not explain %q, which chapter.yaml lists under names", readme, name)
		}
	}
	if n := len(c.After); n == 0 || n > maxAfter || strings.HasSuffix(c.After, ".") {
		problems.add("%s/chapter.yaml: after completes \"afterwards you can\", in at most %d characters and without a full stop; got %q", c.Dir, maxAfter, c.After)
	}
	if len(c.Needs) == 0 {
		problems.add("%s/chapter.yaml: needs is empty: say what a reader needs first, as in [chapter 5, what a Service is for]", c.Dir)
	}
	for _, need := range c.Needs {
		if n := NeededChapter(need); n >= c.Number {
			problems.add("%s/chapter.yaml: it needs chapter %d, which doesn't come before it", c.Dir, n)
		}
	}
	if c.Minutes < 1 || c.Minutes > maxMinutes {
		problems.add("%s/chapter.yaml: want 1 to %d minutes, got %d", c.Dir, maxMinutes, c.Minutes)
	}
	if c.Part < 1 || c.Part >= len(Parts) {
		problems.add("%s/chapter.yaml: want a part from 1 to %d, got %d", c.Dir, len(Parts)-1, c.Part)
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

// snippetOf finds the markers of a chapter.
var snippetOf = regexp.MustCompile(`(?m)^<!-- snippet file=(\S+) symbol=(\S+)([^>]*)-->$`)

// checkFolded proves that what a learner is to write is in a fold: the text has the contract, and whoever reads on hasn't
// seen the answer.
func (c Chapter) checkFolded(text string) (problems Problems) {
	folds := 0
	for line := range strings.Lines(text) {
		folds += strings.Count(line, "<details") - strings.Count(line, "</details>")
		m := snippetOf.FindStringSubmatch(strings.TrimSpace(line))
		if m != nil && folds == 0 && m[1] == c.File && slices.Contains(c.Exercise.Write, m[2]) && !strings.Contains(m[3], "body=false") {
			problems.add("%s shows the solution of %s before anybody has tried: show it with body=false, and in a fold below that, with doc=false title=false", c.Readme(), m[2])
		}
	}
	return problems
}

// checkPrinted proves that a text prints each line of the file once: the book is the program. A signature comes with the
// contract, and again with the body.
func checkPrinted(readme, text, file, source string) (problems Problems) {
	printed := make([]int, strings.Count(source, "\n")+1) // how often, of each line
	for _, m := range snippetOf.FindAllStringSubmatch(text, -1) {
		if m[1] != file {
			continue
		}
		withDoc, end, err := symbolRange(file, source, m[2], true, true)
		if err != nil {
			return append(problems, fmt.Sprintf("%s: %v", readme, err))
		}
		code, _, _ := symbolRange(file, source, m[2], false, true)
		from, to := withDoc, end
		if strings.Contains(m[3], "doc=false") {
			from = code
		}
		if strings.Contains(m[3], "body=false") {
			to = code
		}
		first := strings.Count(source[:from], "\n")
		for i := range strings.Count(source[from:to], "\n") {
			printed[first+i]++
		}
		if to == end {
			printed[strings.Count(source[:to], "\n")]++
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

// rebuilt are the packages that this library is about. Importing one of them
// outside a test would be answering the question with the question.
var rebuilt = []string{
	"k8s.io/client-go/tools/cache", "k8s.io/client-go/util/workqueue", "k8s.io/client-go/tools/leaderelection",
	"k8s.io/client-go/informers", "k8s.io/client-go/listers", "k8s.io/client-go/tools/record",
	"k8s.io/client-go/tools/events",
	"sigs.k8s.io/controller-runtime", "k8s.io/kubernetes",
}

// aliases are the files that may import one of them, for interfaces and plain structs in public
// signatures: a program's type matches only if it's the same one. One serves what a program makes
// with client-go itself: its queues have their metrics from us.
var aliases = []string{
	"informer/clientgo.go", "workqueue/clientgo.go", "manager/recorder/record/clientgo.go",
	"manager/recorder/events/clientgo.go", "manager/leaderelection/resourcelock/clientgo.go",
	"manager/metrics/clientgo.go",
}

// layers are the parts of the tree in the order of an event. A file imports its own part and
// those before it; what is not listed may import everything.
var layers = []string{"trace", "xray", "informer", "workqueue", "manager", "controllers"}

// checkImports proves that imports go down, that the library and mini know nothing of each other
// but the trace, and that nothing but tests imports what we rebuild.
func (r *Repo) checkImports(files []string) (problems Problems, err error) {
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		imports, err := r.imports(file)
		if err != nil {
			return nil, err
		}
		for _, imp := range imports {
			for _, pkg := range rebuilt {
				if slices.Contains(aliases, file) {
					break
				}
				if imp == pkg || strings.HasPrefix(imp, pkg+"/") {
					problems.add("%s imports %s, which this library rebuilds: use our own package (only tests may import the original)", file, imp)
				}
			}
			if target, ours := strings.CutPrefix(imp, r.Module+"/"); ours {
				problems = append(problems, checkDirection(file, top(file), top(target))...)
			}
		}
	}
	return problems, nil
}

func checkDirection(file, from, to string) (problems Problems) {
	at, target := slices.Index(layers, from), slices.Index(layers, to)
	switch {
	case from == miniDir && path.Dir(file) == miniDir && to != miniDir && to != "trace":
		problems.add("%s imports %s: mini imports nothing of this module but trace", file, to)
	case at >= 0 && to == miniDir:
		problems.add("%s imports mini, which the library does not know", file)
	case at >= 0 && target > at:
		problems.add("%s imports %s, which lies above %s in the way of an event", file, to, from)
	}
	return problems
}

// top is the first element of a path.
func top(file string) string {
	first, _, _ := strings.Cut(file, "/")
	return first
}
