package course

import (
	"bytes"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// phrase is wrong wherever it stands. One that a text may have, only not so often, is no phrase: its author has to hear that.
type phrase struct {
	wrong  *regexp.Regexp // its group is reported
	unless *regexp.Regexp // matches the text from there on if the phrase is right after all; may be nil
	cure   string
}

// phrases are looked for in all Markdown, comments and polls.
var phrases = []phrase{
	say(`"its own" or "our own"`, `an own\b`),
	say(`"nothing's wrong with it", or "in the right order"`, `(?:is|are|was|were) in order(?:[.,;:]| and)`),
	say(`"the kind of ... that", or "a ... like"`, `such an? \w+ as (?:you|we|it|they|I|one|yours|ours)\b`),
	say(`"calls ... with"`, `ha(?:s|ve) \w*[^\Wn] called with\b`),
	say(`"this many" or "that many"`, `so many\b`).unlessIt(`so many(?: \w+){0,8} that\b`),
	say(`"Retrying won't help", or name the actor`, `(?-i:To) [a-z]+\b[^.,:;?!\x00]{0,80}? (?:does not|doesn't|would|takes|helps|costs)\b`).
		unlessIt(`To (?:an?|the|each|every|all|us|it|this|that|its|our|your|their)\b`),
	say(`"how many ... does each ... have"`, `how many \w+ has each\b`),
	say(`"a problem"`, `a trouble\b`),
	say(`who: "its owner", "callers that wait"`, `for who \w+s\b`),
	say(`"even if" or "even when"`, `also (?:if|when)\b`),
	say(`"again"`, `anew\b`),
	say(`"forever"`, `for ever\b`),
	say(`"more expensive"`, `dearer\b`),
	say(`"second to last"`, `last but one\b`),
	say(`"blocks no one"`, `holds? up nobody\b`),
	say(`"never ends"`, `ends never\b`),
}

// say makes a phrase of a pattern, in which a space is any white space.
func say(cure, pattern string) phrase {
	return phrase{wrong: spaced(`\b(` + pattern + `)`), cure: cure}
}

func (p phrase) unlessIt(pattern string) phrase {
	p.unless = spaced(`^(?:` + pattern + `)`)
	return p
}

func spaced(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.ReplaceAll(pattern, " ", `\s+`))
}

// checkPhrases looks through the whole tree, and the nested modules, too.
func (r *Repo) checkPhrases() (problems Problems, err error) {
	err = r.walk(func(file string) error {
		text, err := r.read(file)
		switch {
		case path.Ext(file) == ".md":
			text = textOnly(text)
		case path.Ext(file) == ".go":
			text = commentsOnly(text)
		case path.Base(file) != "chapter.yaml":
			return nil
		}
		problems = append(problems, findPhrases(file, zeros.ReplaceAll(text, []byte{0}))...)
		return err
	}, func(_, name string) bool { return name == "testdata" })
	return problems, err
}

func findPhrases(file string, text []byte) (problems Problems) {
	for _, p := range phrases {
		for _, at := range p.wrong.FindAllSubmatchIndex(text, -1) {
			from, to := at[2], at[3]
			if p.unless != nil && p.unless.Match(text[from:]) {
				continue
			}
			line := 1 + bytes.Count(text[:from], []byte("\n"))
			problems.add("%s:%d says %q: say %s", file, line, strings.Join(strings.Fields(string(text[from:to])), " "), p.cure)
		}
	}
	return problems
}

// zeros is code that was blanked: a byte of it stands for all, and the search for phrases is over sooner.
var zeros = regexp.MustCompile(`\x00[\x00 \t]+`)

var codeSpan = regexp.MustCompile("`[^`\n]*`")

// textOnly blanks a Markdown file's code, so that everything else stays on its line.
func textOnly(text []byte) []byte {
	out, fence := []byte{}, ""
	for line := range bytes.Lines(text) {
		f := fenceOf(string(line))
		if fence != "" || f != "" {
			out = append(out, blank(line)...)
		} else {
			out = append(out, codeSpan.ReplaceAllFunc(line, blank)...)
		}
		switch {
		case fence == "":
			fence = f
		case strings.HasPrefix(f, fence):
			fence = ""
		}
	}
	return out
}

// commentsOnly blanks a Go file's code.
func commentsOnly(text []byte) []byte {
	out := blank(text)
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		pos, kind, comment := s.Scan()
		if kind == token.EOF {
			return out
		}
		if kind == token.COMMENT {
			copy(out[file.Offset(pos):], strings.Replace(comment, "//", "  ", 1))
		}
	}
}

// blank has a zero for each byte that is no white space.
func blank(text []byte) []byte {
	out := bytes.Clone(text)
	for i, c := range out {
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(c)) {
			out[i] = 0
		}
	}
	return out
}
