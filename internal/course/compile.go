package course

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/loopwright/loopwright/internal/course/gotest"
	"github.com/loopwright/loopwright/internal/course/splice"
)

// explainCompile shows what the compiler says. A place in a file that learners don't write says nothing
// to them, so it adds what this file needs of theirs.
func (r *Repo) explainCompile(e Exercise, f gotest.Failure, file string) string {
	errors := r.shortPaths(f.Detail)
	mine := strings.Contains(errors, path.Dir(file)+"/")
	advice := "Go reports the place as file:line:column. Correct the first line above first; it may have caused the others."
	switch needed := r.needed(e, errors, file); {
	case needed != "":
		errors, advice = firstError(errors), needed // the others are about the same
	case !mine:
		advice = fmt.Sprintf("Your file has changed something that other files use: keep the names and the signatures that the stub had (`make reset-%s` gives you a new one, and keeps your file).", e.ID())
	}
	return "Your code doesn't compile yet:\n\n" + indent(errors, "    ") + "\n\n" + wrap(advice, 80)
}

// compilerLine is one of the compiler's lines that begin with a place.
var compilerLine = regexp.MustCompile(`(?m)^([^\s:]+\.go):(\d+):\d+: (.*)$`)

// firstError is the first of the compiler's errors, with the lines that belong to it.
func firstError(errors string) string {
	if places := compilerLine.FindAllStringIndex(errors, 2); len(places) == 2 {
		errors = errors[:places[1][0]]
	}
	return strings.TrimSpace(errors)
}

// needed says what another file needs of the learner's, if the compiler's first error is there.
func (r *Repo) needed(e Exercise, errors, file string) string {
	m := compilerLine.FindStringSubmatch(errors)
	if m == nil || strings.HasPrefix(m[1], path.Dir(file)+"/") {
		return ""
	}
	if name, _, taken := strings.Cut(m[3], " redeclared in this block"); taken {
		return fmt.Sprintf("%s:%s declares %s already: give yours another name.", m[1], m[2], name)
	}
	base, err := r.parse(e.reference())
	mine, err2 := r.parse(file)
	if err != nil || err2 != nil {
		return "" // the compiler says it better
	}
	place, code := m[1]+":"+m[2], r.sourceLine(m[1], m[2])
	differences := splice.Differences(base, mine)
	for _, words := range []string{m[3], code} { // what the compiler names is more likely than what stands beside it
		for _, d := range differences {
			if isNamed(words, d.Name) {
				return needs(d, place, code)
			}
		}
	}
	return ""
}

func needs(d splice.Difference, place, code string) string {
	because := fmt.Sprintf("because %s uses it like this: `%s`.", place, code)
	switch {
	case d.Yours == "":
		return fmt.Sprintf("Your file doesn't declare %s. It needs `%s`, %s", d.Name, d.Wanted, because)
	case d.Wanted == d.Yours: // a type with other fields
		return fmt.Sprintf("Your `%s` lacks something. Add it, %s", d.Wanted, because)
	}
	return fmt.Sprintf("Your %s must have the signature `%s`, %s Yours is `%s`.", d.Name, d.Wanted, because, d.Yours)
}

// isNamed reports whether a text has the name of a declaration: of a method, its own.
func isNamed(text, declared string) bool {
	own := declared[strings.LastIndex(declared, ".")+1:]
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(own) + `\b`).MatchString(text)
}

// sourceLine is what stands at a place that the compiler names.
func (r *Repo) sourceLine(file, line string) string {
	text, err := r.read(file)
	n, err2 := strconv.Atoi(line)
	lines := strings.Split(string(text), "\n")
	if err != nil || err2 != nil || n > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[n-1])
}
