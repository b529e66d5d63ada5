package course

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const tinyWorkshops = `starts: "09:00"
ends: "18:00"
sitting: 90
break: 15
lunch: 60
class: 1.2
shares: {tell: 30, predict: 10, run: 10, write: 50}
workshops:
  short:
    - - {do: "welcome to [all](../README.md)", minutes: 20}
      - {chapter: 1}
      - {do: questions, minutes: 20}
      - {chapter: 2, shown: true}
      - {do: exit ticket, minutes: 30}
  long:
    - [{chapter: 1}, {do: exit ticket, minutes: 10}]
    - - {chapter: 2}
`

func withWorkshops(t *testing.T, workshops, text string) *Repo {
	t.Helper()
	tree := map[string]string{workshopsFile: workshops, "docs/teaching.md": text}
	for name, minutes := range map[string]string{"chapters/01-sum": "75", "chapters/02-mean": "80"} {
		file := name + "/chapter.yaml"
		from, to, _ := strings.Cut(tiny[file], "minutes: ")
		tree[file] = from + "minutes: " + minutes + to[1:]
	}
	return tinyTree(t, tree)
}

// A class is not one reader: it waits for its slower half, and nobody sits for three hours.
func TestAnAgendaHasAllThatADayIsMadeOf(t *testing.T) {
	t.Parallel()
	const marker = "<!-- course:agenda-short -->\nold\n<!-- /course:agenda-short -->\n"
	r := withWorkshops(t, tinyWorkshops, marker)
	_, err := r.Sync()
	require.NoError(t, err)
	assert.Equal(t, `<!-- course:agenda-short -->

| From | To |  | Tell | Predict | Run | Write |
|---|---|---|---|---|---|---|
| 09:00 | 09:20 | welcome to [all](../README.md) |  |  |  |  |
| 09:20 | 10:05 | 1 [Sum](../chapters/01-sum/README.md) | 25 | 10 | 10 |  |
| 10:05 | 10:20 | break |  |  |  |  |
| 10:20 | 11:05 | 1: exercise |  |  |  | 45 |
| 11:05 | 11:25 | questions |  |  |  |  |
| 11:25 | 11:40 | break |  |  |  |  |
| 11:40 | 12:30 | 2 [Mean](../chapters/02-mean/README.md) | 30 | 10 | 10 |  |
| 12:30 | 13:30 | lunch |  |  |  |  |
| 13:30 | 14:00 | exit ticket |  |  |  |  |

<!-- /course:agenda-short -->
`, read(t, r, "docs/teaching.md"))
}

// A teacher who plans with old minutes sits there at six with two chapters left.
func TestAnAgendaIsOutOfDateWhenAChapterTakesLonger(t *testing.T) {
	t.Parallel()
	const marker = "<!-- course:agenda-short -->\n<!-- /course:agenda-short -->\n"
	r := withWorkshops(t, tinyWorkshops, marker)
	_, err := r.Sync()
	require.NoError(t, err)
	const chapter = "chapters/01-sum/chapter.yaml"
	put(t, r.Root, chapter, strings.Replace(read(t, r, chapter), "minutes: 75", "minutes: 90", 1))
	problems, err := r.checkText()
	require.NoError(t, err)
	require.Len(t, problems, 2, "the README lists the minutes, too")
	assert.Contains(t, problems[1], "docs/teaching.md does not show the code as it is")
}

func TestLunchIsAtNoonAndOnce(t *testing.T) {
	t.Parallel()
	later := strings.Replace(tinyWorkshops, "09:00", "10:20", 1)
	r := withWorkshops(t, later, "<!-- course:agenda-short -->\n<!-- /course:agenda-short -->\n"+
		"<!-- course:agenda-long -->\n<!-- /course:agenda-long -->\n")
	_, err := r.Sync()
	require.NoError(t, err)
	text := read(t, r, "docs/teaching.md")
	short, long, _ := strings.Cut(text, "<!-- /course:agenda-short -->")
	assert.Contains(t, short, "| 11:25 | 11:40 | break |  |  |  |  |\n| 11:40 | 12:25 | 1: exercise |")
	assert.Contains(t, short, "| 12:25 | 13:25 | lunch |  |  |  |  |\n| 13:25 | 13:45 | questions |")
	assert.Contains(t, short, "| 13:45 | 14:35 | 2 [Mean]", "lunch is a break, too")
	assert.Equal(t, 1, strings.Count(short, "lunch"))
	assert.Contains(t, long, "Day 1:\n\n| From |")
	assert.Contains(t, long, "| exit ticket |  |  |  |  |\n\nDay 2:\n\n| From |")
	assert.Equal(t, 1, strings.Count(long, "lunch"), "the second day ends before anybody is hungry")

	put(t, r.Root, workshopsFile, strings.Replace(tinyWorkshops, "09:00", "12:30", 1))
	_, err = r.Sync()
	require.NoError(t, err)
	assert.Contains(t, read(t, r, "docs/teaching.md"), "| 12:30 | 12:50 | welcome", "no day begins with it")
}

func TestAnAgendaThatCannotBeKeptIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, text, marker, want string }{
		{"a day that is too long", "18:00", "09:20", "agenda-short",
			`day 1 of the workshop "short" ends at 14:00, and may not be longer than 09:20`},
		{"a chapter that is not there", "{chapter: 1}", "{chapter: 3}", "agenda-short",
			"takes chapter 3, which does not exist"},
		{"a workshop that is not there", "", "", "agenda-medium",
			`has no workshop "medium"; it has long, short`},
		{"a time that is none", "09:00", "nine", "agenda-short", `"nine" is not a time of day`},
		{"a misspelled key", "lunch", "lunhc", "agenda-short", `unknown field "lunhc"`},
		{"shares that are not all", "write: 50", "write: 5", "agenda-short",
			"the shares of a chapter make 55 percent, and must make 100"},
		{"no factor", "class: 1.2", "", "agenda-short", "class is 0, and no class is quicker"},
		{"no workshops", tinyWorkshops, "", "agenda-short", "docs/workshops.yaml does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := "<!-- course:" + c.marker + " -->\nas it was\n<!-- /course:" + c.marker + " -->\n"
			r := withWorkshops(t, strings.Replace(tinyWorkshops, c.old, c.text, 1), text)
			_, err := r.Sync()
			require.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "docs/teaching.md:1: course:"+c.marker)
			assert.Equal(t, text, read(t, r, "docs/teaching.md"), "what cannot be filled in stays as it is")
		})
	}
}
