package course

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A rule that finds what is right is switched off, and with it all the others.
func TestAPhraseIsFoundOnlyWhereItIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, found string }{
		{"It has an own queue.", "an own"},
		{"`news` is in order, and waits.", "is in order,"},
		{"They are in order of size.", ""},
		{"In such a controller as yours.", "such a controller as yours"},
		{"There's no such thing as a queue.", ""},
		{"It reports such a write as a deletion.", ""},
		{"Validate has check called\nwith both.", "has check called with"},
		{"It has been called with nil.", ""},
		{"It asks for so\nmany Pods.", "so many"},
		{"There are so many Pods that it waits.", ""},
		{"To try again does not help.", "To try again does not"},
		{"To try again, which doesn't help, it waits.", ""},
		{"To a handler it would be one event.", ""},
		{"It waits to see whether that helps.", ""},
		{"How many Pods has each Website?", "How many Pods has each"},
		{"How many Pods has it created?", ""},
		{"`an own` and ``` are code.", ""},
		{"```\nan own\n```", ""},
		{"~~~go\nan own\n~~~\n\nan own", "an own"},
	} {
		got := ""
		for _, p := range findPhrases("a.md", textOnly([]byte(c.text))) {
			got = strings.Split(p, `"`)[1]
		}
		assert.Equal(t, c.found, got, c.text)
	}
}

func TestAPhraseInACommentIsFoundOnItsLine(t *testing.T) {
	t.Parallel()
	const text = "package a\n\n// For each item an\n// own queue.\nvar anew = \"// anew\" // dearer\n"
	assert.Equal(t, Problems{`a.go:3 says "an own": say "its own" or "our own"`, `a.go:5 says "dearer": say "more expensive"`},
		findPhrases("a.go", commentsOnly([]byte(text))))
}
