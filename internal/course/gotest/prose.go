package gotest

import (
	"strings"
	"unicode"
)

// Outcome is the test author's message with what the assertion saw, or the
// assertion and why it matters: the comment on the test.
func (f Failure) Outcome(why string) string {
	saw := Short(f.Detail)
	if f.Expected != "" && f.Actual != "" {
		saw = "expected " + Short(f.Expected) + ", but got " + Short(f.Actual)
	}
	switch {
	case f.Message == "" && saw == "":
		return why
	case f.Message == "":
		return strings.TrimSpace(EndSentence(saw) + " " + Capital(why))
	case saw == "":
		return EndSentence(Short(f.Message))
	default:
		return EndSentence(strings.TrimRight(Short(f.Message), ".") + " (" + saw + ")")
	}
}

// Short cuts what would fill the screen; `course exercise -v` shows all of it.
func Short(s string) string {
	const most = 300
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}

// Capital makes a sentence of a text.
func Capital(text string) string {
	runes := []rune(Short(text))
	if len(runes) > 0 {
		runes[0] = unicode.ToUpper(runes[0])
	}
	return EndSentence(string(runes))
}

// EndSentence ends a text with a full stop if it has no end.
func EndSentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return s
	}
	return s + "."
}
