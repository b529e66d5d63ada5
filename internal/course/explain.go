package course

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/loopwright/loopwright/internal/course/gotest"
)

// fewFunctions are worth naming: of more, a learner learns nothing.
const fewFunctions = 3

// explain makes one plain paragraph of a failure: which behaviour, what was
// expected, what happened, which function, where to read. file is the code
// that was judged: the learner's, or one that verify tries.
func (r *Repo) explain(e Exercise, f gotest.Failure, file string) string {
	if f.Status == gotest.NoCompile {
		return r.explainCompile(e, f, file)
	}
	doc := r.testDoc(e, f)
	if empty := r.stillEmpty(e, file); len(empty) > 0 && mayLack(f, empty) {
		// Nothing that's there is wrong.
		next := empty[0]
		if slices.Contains(empty, doc.function) {
			next = doc.function
		}
		what := "the test waits for something that doesn't happen"
		if f.Status == gotest.Panicked {
			what = "the test uses a result that isn't there yet"
		}
		return wrap(fmt.Sprintf("%s: %s, and %s. Write %s in %s. Read %s.", quoted(f), what, areStillEmpty(empty), next, file, e.Reads()), 80)
	}
	parts := []string{r.happened(f, doc.text)}
	change := "Change " + file
	switch {
	case doc.function != "":
		change = fmt.Sprintf("Change %s in %s", doc.function, file)
	case f.Status == gotest.Panicked && slices.Contains(e.Function, f.Function):
		change = fmt.Sprintf("Change %s in %s", f.Function, file)
	case len(e.Function) > 0 && len(e.Function) <= fewFunctions:
		change = fmt.Sprintf("Change %s in %s", list(e.Function, "or"), file)
	}
	if f.At != "" {
		change += fmt.Sprintf("; the check that failed is %s", path.Join(r.packageDir(f.Package), f.At))
	}
	parts = append(parts, change+".")
	parts = append(parts, "Read "+e.Reads()+".")
	return wrap(strings.Join(parts, " "), 80)
}

// mayLack reports whether a test may have failed because of what isn't written yet: it waits for that, or it panics on nil,
// and not in a function that's written.
func mayLack(f gotest.Failure, empty []string) bool {
	switch f.Status {
	case gotest.Deadlocked, gotest.TimedOut:
		return true
	case gotest.Panicked:
		return strings.Contains(f.Detail, "nil pointer") && (f.Function == "" || slices.Contains(empty, f.Function))
	}
	return false
}

// areStillEmpty names functions that nothing is written in yet.
func areStillEmpty(empty []string) string {
	switch {
	case len(empty) > fewFunctions:
		return fmt.Sprintf("%s and %d more functions are still empty", empty[0], len(empty)-1)
	case len(empty) == 1:
		return empty[0] + " is still empty"
	}
	return list(empty, "and") + " are still empty"
}

// count says how many tests pass, and why some of them were not run.
func (e Exercise) count(f gotest.Failure, empty []string) string {
	if f.Test == "" {
		return ""
	}
	text := fmt.Sprintf("%d of %d tests pass.", f.Passed, len(e.Tests))
	missing := len(e.Tests) - f.Passed - 1 - len(f.Others)
	switch {
	case missing == 0 || f.Ended == "" && len(empty) == 0:
		return text
	case f.Ended == "": // it had to stop at the first failure
		return fmt.Sprintf("%s The run stopped at the first failing test, because %s.", text, areStillEmpty(empty))
	}
	where := "the test below"
	if len(f.Others) > 0 {
		where = fmt.Sprintf("%q", sentence(f.Others[len(f.Others)-1]))
	}
	return fmt.Sprintf("%s The code %s in %s, so later tests weren't run (%d).", text, f.Ended, where, missing)
}

// fewOthers are worth naming: more would hide the first.
const fewOthers = 5

// others names the tests that fail besides the one that is explained.
func others(f gotest.Failure) string {
	if len(f.Others) == 0 {
		return ""
	}
	var names []string
	for _, test := range f.Others[:min(len(f.Others), fewOthers)] {
		names = append(names, fmt.Sprintf("%q", sentence(test)))
	}
	if more := len(f.Others) - fewOthers; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return gotest.EndSentence("Also failing: " + list(names, "and"))
}

// quoted is the behaviour that does not hold.
func quoted(f gotest.Failure) string {
	if f.Test == "" {
		return "The tests don't pass yet"
	}
	return fmt.Sprintf("%q isn't true yet", sentence(f.Test))
}

// happened is the first part of the paragraph.
func (r *Repo) happened(f gotest.Failure, why string) string {
	behaviour := quoted(f)
	switch f.Status {
	case gotest.TimedOut, gotest.Deadlocked, gotest.Raced, gotest.Panicked:
		return behaviour + ": " + gotest.EndSentence(f.PlainCrash())
	case gotest.Flooding:
		return behaviour + ": the code prints without end, so it was stopped: some loop never ends."
	case gotest.NoTests:
		return "No test was run, because the file's tests are missing. That's a mistake in the course, not yours."
	case gotest.Broken:
		return "The tests couldn't be run: " + f.Detail
	default:
		return behaviour + ": " + f.Outcome(why)
	}
}

// shortPaths makes the absolute paths of the tree's files relative.
func (r *Repo) shortPaths(text string) string {
	text = strings.ReplaceAll("\n"+text, r.Abs("")+"/", "")
	return strings.ReplaceAll(text, "\n./", "\n")[1:]
}

func (r *Repo) packageDir(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, r.Module), "/")
}

// sentence makes "A cursor resumes after 410 gone (paged list)" of
// "TestACursorResumesAfter410Gone/paged_list".
func sentence(test string) string {
	name, sub, _ := strings.Cut(strings.TrimPrefix(test, "Test"), "/")
	words := splitWords(name)
	for i, w := range words {
		if i > 0 && !(len(w) > 1 && strings.ToUpper(w) == w) {
			words[i] = strings.ToLower(w)
		}
	}
	s := strings.Join(words, " ")
	if sub != "" {
		s += " (" + strings.ReplaceAll(strings.ReplaceAll(sub, "_", " "), "/", ", ") + ")"
	}
	return s
}

// splitWords cuts where a new word begins: at a capital after a small letter,
// at the last capital of several (ACursor, HTTPServer), before and after
// numbers.
func splitWords(name string) []string {
	var words []string
	runes := []rune(name)
	start := 0
	for i := 1; i < len(runes); i++ {
		prev, c := runes[i-1], runes[i]
		next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if c == '_' || prev == '_' || unicode.IsUpper(c) && (!unicode.IsUpper(prev) || next) || unicode.IsDigit(c) != unicode.IsDigit(prev) {
			words = append(words, strings.Trim(string(runes[start:i]), "_"))
			start = i
		}
	}
	words = append(words, strings.Trim(string(runes[start:]), "_"))
	return strings.Fields(strings.Join(words, " "))
}

func indent(s, by string) string { return by + strings.ReplaceAll(s, "\n", "\n"+by) }

func wrap(s string, width int) string {
	var out strings.Builder
	column := 0
	for i, w := range strings.Fields(s) {
		n := len([]rune(w))
		switch {
		case i == 0:
		case column+1+n > width:
			out.WriteByte('\n')
			column = 0
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(w)
		column += n
	}
	return out.String()
}
