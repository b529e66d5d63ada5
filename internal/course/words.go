package course

import (
	"regexp"
	"strings"
)

// The rules for the words of a chapter. Vale has rules like these, too, but it needs a C compiler, and
// `make check` doesn't.
const (
	maxSentence = 35 // words
	maxVague    = 3  // a text names its actors
)

var (
	vague = regexp.MustCompile(`(?i)\b(somebody|nobody|whoever|everybody)\b`)

	// stilted is what an engineer would not say to a colleague. More of it is in phrases, for all texts.
	stilted = regexp.MustCompile(`(?i)\b(tells? of|tells? whether|bears? an?|makes? nothing of)\b`)

	paragraphs = regexp.MustCompile(`\n\s*\n|\n\s*(?:[-*]|\d+\.) `)
	sentences  = regexp.MustCompile(`[.!?:]["*_)]*\s+`)
	notProse   = regexp.MustCompile(`(?m)^\s*(\||#|!\[|<).*$`) // rows, headings, pictures, tags
)

// checkWords holds the words of a text to the rules. Code is not part of prose.
func checkWords(readme, prose string) (problems Problems) {
	if found := vague.FindAllString(prose, -1); len(found) > maxVague {
		problems.add("%s says %s: name the actor, and keep %d at most", readme, strings.Join(found, ", "), maxVague)
	}
	for _, words := range stilted.FindAllString(prose, -1) {
		problems.add("%s says %q: write as you would say it to a colleague", readme, words)
	}
	for _, paragraph := range paragraphs.Split(notProse.ReplaceAllString(prose, ""), -1) {
		for _, sentence := range sentences.Split(paragraph, -1) {
			if words := strings.Fields(sentence); len(words) > maxSentence {
				problems.add("%s has a sentence of %d words, and %d can be read at once: %s ...", readme, len(words), maxSentence, strings.Join(words[:8], " "))
			}
		}
	}
	return problems
}
