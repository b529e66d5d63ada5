package course

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// fewFunctions are worth naming: of more, a learner learns nothing.
const fewFunctions = 3

// explain makes one plain paragraph of a failure: which behaviour, what was
// expected, what happened, which function, where to read. file is the code
// that was judged: the learner's, or one that verify tries.
func (r *Repo) explain(e Exercise, f Failure, file string) string {
	if f.Status == NoCompile {
		errors := r.shortPaths(f.Detail)
		advice := "Go reports the place as file:line:column. Correct the first line above first; the others may follow from it."
		if !strings.Contains(errors, path.Dir(file)+"/") {
			advice = fmt.Sprintf("Your file has changed something that other files use: keep the names and the signatures that the stub had (`make reset-%s` gives you a new one, and keeps your file).", e.ID())
		}
		return "Your code does not compile yet:\n\n" + indent(errors, "    ") + "\n\n" + wrap(advice, 80)
	}
	doc := r.testDoc(f)
	if empty := r.stillEmpty(e, file); len(empty) > 0 && (f.Status == Deadlocked || f.Status == TimedOut) {
		// Whatever waits may wait for what is not written yet: nothing that is there is wrong.
		next, still := empty[0], fmt.Sprintf("%s and %d more functions are still empty", empty[0], len(empty)-1)
		if len(empty) <= fewFunctions {
			still = list(empty, "and") + map[bool]string{true: " is", false: " are"}[len(empty) == 1] + " still empty"
		}
		if slices.Contains(empty, doc.function) {
			next = doc.function
		}
		return wrap(fmt.Sprintf("%s: the test waits for something that does not happen, and %s. Write %s in %s. Read %s.", f.quoted(), still, next, file, e.Reads()), 80)
	}
	parts := []string{r.happened(f, doc.text)}
	change := "Change " + file
	if functions := e.Function; doc.function != "" {
		change = fmt.Sprintf("Change %s in %s", doc.function, file)
	} else if len(functions) <= fewFunctions {
		change = fmt.Sprintf("Change %s in %s", list(functions, "or"), file)
	}
	if f.At != "" {
		change += fmt.Sprintf("; the check that failed is %s", path.Join(r.packageDir(f.Package), f.At))
	}
	parts = append(parts, change+".")
	parts = append(parts, "Read "+e.Reads()+".")
	return wrap(strings.Join(parts, " "), 80)
}

// quoted is the behaviour that does not hold.
func (f Failure) quoted() string {
	if f.Test == "" {
		return "The tests do not pass yet"
	}
	return fmt.Sprintf("%q does not hold yet", sentence(f.Test))
}

// happened is the first part of the paragraph.
func (r *Repo) happened(f Failure, why string) string {
	quoted := f.quoted()
	place := ""
	if f.Line > 0 {
		place = fmt.Sprintf(" (%s:%d)", f.In, f.Line)
	}
	switch f.Status {
	case TimedOut, Deadlocked, Raced, Panicked:
		return quoted + ": " + endSentence(f.plainCrash(place))
	case Flooding:
		return quoted + ": the code prints without end, so it was stopped: a loop never ends."
	case NoTests:
		return "No test was run: the file's tests are not there. That is a mistake in the course, not yours."
	case Broken:
		return "The tests could not be run: " + f.Detail
	default:
		return quoted + ": " + f.outcome(why)
	}
}

// outcome is the test author's message with what the assertion saw, or the
// assertion and why it matters: the comment on the test.
func (f Failure) outcome(why string) string {
	saw := short(f.Detail)
	if f.Expected != "" && f.Actual != "" {
		saw = "expected " + short(f.Expected) + ", but got " + short(f.Actual)
	}
	switch {
	case f.Message == "" && saw == "":
		return why
	case f.Message == "":
		return strings.TrimSpace(endSentence(saw) + " " + capital(why))
	case saw == "":
		return endSentence(short(f.Message))
	default:
		return endSentence(strings.TrimRight(short(f.Message), ".") + " (" + saw + ")")
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

// short cuts what would fill the screen; `course exercise -v` shows all of it.
func short(s string) string {
	const most = 300
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}

// capital makes a sentence of a text.
func capital(text string) string {
	runes := []rune(short(text))
	if len(runes) > 0 {
		runes[0] = unicode.ToUpper(runes[0])
	}
	return endSentence(string(runes))
}

func endSentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return s
	}
	return s + "."
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
