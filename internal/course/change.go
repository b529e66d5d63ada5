package course

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// change returns the diff between two files of a program that grows from chapter to chapter. With
// symbols it is about these only: a symbol that one of the files lacks is new, or gone. A line of
// context is around each change, unless bare leaves it out, and a blank line between two of them.
func (r *Repo) change(from, to, symbols string, bare bool) (string, error) {
	before, err1 := r.read(from)
	after, err2 := r.read(to)
	if err := errors.Join(err1, err2); err != nil {
		return "", fmt.Errorf("a file does not exist or cannot be read: %w", err)
	}
	var changes []string
	add := func(what, old, now string) error {
		text := touching(edits(linesOf(old), linesOf(now)), bare)
		if text == "" {
			return fmt.Errorf("%s and %s have the same %s: leave it out", from, to, what)
		}
		changes = append(changes, text)
		return nil
	}
	if symbols == "" {
		if err := add("text", string(before), string(after)); err != nil {
			return "", err
		}
	} else {
		for symbol := range strings.SplitSeq(symbols, ",") {
			old, err1 := cutSymbol(from, string(before), symbol, true, true)
			now, err2 := cutSymbol(to, string(after), symbol, true, true)
			if err1 != nil && err2 != nil {
				return "", errors.Join(err1, err2)
			}
			if err := add(symbol, old, now); err != nil {
				return "", err
			}
		}
	}
	return "--- " + from + "\n+++ " + to + "\n" + strings.Join(changes, "\n\n"), nil
}

func linesOf(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// edits is the way from old to now: each line with a space if it stays, a minus if it goes, or a plus if it
// comes.
func edits(old, now []string) (script []string) {
	add := func(sign string, lines []string) {
		for _, line := range lines {
			script = append(script, sign+line)
		}
	}
	for _, op := range difflib.NewMatcher(old, now).GetOpCodes() {
		if op.Tag == 'e' { // equal
			add(" ", old[op.I1:op.I2])
			continue
		}
		add("-", old[op.I1:op.I2])
		add("+", now[op.J1:op.J2])
	}
	return script
}

// touching leaves out the lines that stay, but for those that touch a change.
func touching(script []string, bare bool) string {
	changed := func(i int) bool { return i >= 0 && i < len(script) && script[i][0] != ' ' }
	var kept []string
	hole := false
	for i, line := range script {
		touches := !bare && (changed(i-1) || changed(i+1)) && strings.TrimSpace(line) != ""
		if !changed(i) && !touches {
			hole = len(kept) > 0
			continue
		}
		if hole {
			kept = append(kept, "")
		}
		hole = false
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}
