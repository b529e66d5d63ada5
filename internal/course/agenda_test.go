package course

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const tinyWorkshops = `starts: "09:00"
ends: "18:00"
break: 15
lunch: 60
workshops:
  short:
    - [1, 2]
  long:
    - [2, 1, 2, 1]
    - [1]
`

func withWorkshops(t *testing.T, workshops, text string) *Repo {
	t.Helper()
	return tinyTree(t, map[string]string{workshopsFile: workshops, "docs/teaching.md": text})
}

func TestAnAgendaIsMadeOfTheChaptersMinutes(t *testing.T) {
	t.Parallel()
	r := withWorkshops(t, tinyWorkshops, "<!-- course:agenda-short -->\nold\n<!-- /course:agenda-short -->\n")
	_, err := r.Sync()
	require.NoError(t, err)
	assert.Equal(t, `<!-- course:agenda-short -->

| From | To |  | Minutes |
|---|---|---|---|
| 09:00 | 09:05 | 1 [Sum](../chapters/01-sum/README.md) | 5 |
| 09:05 | 09:20 | break | 15 |
| 09:20 | 09:27 | 2 [Mean](../chapters/02-mean/README.md) | 7 |

<!-- /course:agenda-short -->
`, read(t, r, "docs/teaching.md"))
}

// A teacher who plans with old minutes sits there at six with two chapters left.
func TestAnAgendaIsOutOfDateWhenAChapterTakesLonger(t *testing.T) {
	t.Parallel()
	r := withWorkshops(t, tinyWorkshops, "<!-- course:agenda-short -->\n<!-- /course:agenda-short -->\n")
	_, err := r.Sync()
	require.NoError(t, err)
	put(t, r.Root, "chapters/01-sum/chapter.yaml", strings.Replace(read(t, r, "chapters/01-sum/chapter.yaml"), "minutes: 5", "minutes: 50", 1))
	problems, err := r.checkText()
	require.NoError(t, err)
	require.Len(t, problems, 2, "the README lists the minutes, too")
	assert.Contains(t, problems[1], "docs/teaching.md does not show the code as it is: run `make sync`")
}

func TestLunchIsAtNoonAndOnce(t *testing.T) {
	t.Parallel()
	r := withWorkshops(t, strings.Replace(tinyWorkshops, "09:00", "11:20", 1), "<!-- course:agenda-long -->\n<!-- /course:agenda-long -->\n")
	_, err := r.Sync()
	require.NoError(t, err)
	text := read(t, r, "docs/teaching.md")
	assert.Contains(t, text, "Day 1:\n\n| From |")
	assert.Contains(t, text, "| 11:27 | 11:42 | break | 15 |\n| 11:42 | 11:47 | 1 [Sum](../chapters/01-sum/README.md) | 5 |\n| 11:47 | 12:47 | lunch | 60 |\n")
	assert.Contains(t, text, "| 12:54 | 13:09 | break | 15 |\n")
	assert.Contains(t, text, "Day 2:\n\n| From |")
	assert.Equal(t, 1, strings.Count(text, "lunch"))
}

func TestAnAgendaThatCannotBeKeptIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, workshops, marker, want string }{
		{"a day that is too long", strings.Replace(tinyWorkshops, "18:00", "09:20", 1), "agenda-short", `day 1 of the workshop "short" ends at 09:27, and may not be longer than 09:20`},
		{"a chapter that is not there", strings.Replace(tinyWorkshops, "[1, 2]", "[1, 3]", 1), "agenda-short", "takes chapter 3, which does not exist"},
		{"a workshop that is not there", tinyWorkshops, "agenda-medium", `has no workshop "medium"; it has long, short`},
		{"a time that is none", strings.Replace(tinyWorkshops, "09:00", "nine", 1), "agenda-short", `"nine" is not a time of day`},
		{"a misspelled key", strings.Replace(tinyWorkshops, "lunch", "lunhc", 1), "agenda-short", `unknown field "lunhc"`},
		{"no workshops", "", "agenda-short", "docs/workshops.yaml does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := "<!-- course:" + c.marker + " -->\nas it was\n<!-- /course:" + c.marker + " -->\n"
			r := withWorkshops(t, c.workshops, text)
			_, err := r.Sync()
			require.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "docs/teaching.md:1: course:"+c.marker)
			assert.Equal(t, text, read(t, r, "docs/teaching.md"), "what cannot be filled in stays as it is")
		})
	}
}
