package pages

import (
	"fmt"
	"strings"
	"unicode"
)

// slugs gives the headings of one page the ids that GitHub gives them, so that a
// link that works there works here: letters, digits, marks, "_" and "-" stay, a
// space becomes "-", everything else goes, and a second heading of one name
// gets "-1".
type slugs map[string]int

func (s slugs) next(heading string) string {
	first := slug(heading)
	id := first
	for {
		if _, taken := s[id]; !taken {
			s[id] = 0
			return id
		}
		s[first]++
		id = fmt.Sprintf("%s-%d", first, s[first])
	}
}

func slug(heading string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case unicode.IsLetter(c), unicode.IsMark(c), unicode.IsDigit(c), unicode.Is(unicode.Pc, c), c == '-':
			return unicode.ToLower(c)
		case c == ' ':
			return '-'
		default:
			return -1
		}
	}, heading)
}
