package pages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exerciseText is what the only exercise of the small course becomes.
func exerciseText(t *testing.T, more string) (string, problems) {
	t.Helper()
	s, err := openCourse(t, more)
	require.NoError(t, err)
	return s.text(s.pages["exercises/01-resume/README.md"])
}

func TestAnExerciseBeginsWithHowToBegin(t *testing.T) {
	out, found := exerciseText(t, "")
	require.Empty(t, found)
	for _, want := range []string{
		`<a href="../../index.html#your-first-exercise">get the repository</a>`,
		"Then <code>make exercise-1</code> writes <code>my/01-resume/next.go</code> for you",
		`<b>To read first:</b> <a href="../../chapters/01-list/index.html">chapter 1</a>, sections ` +
			`<a href="../../chapters/01-list/index.html#next--last">Next &amp; last</a> and, at its end, the rules.`,
	} {
		assert.Contains(t, out, want)
	}
	assert.Less(t, strings.Index(out, "<h1"), strings.Index(out, "To begin:"))
	assert.Less(t, strings.Index(out, "To begin:"), strings.Index(out, "Write it."))
}

func TestAnExerciseShowsTheFileThatALearnerBeginsWithBeforeTheFirstHint(t *testing.T) {
	out, found := exerciseText(t, "")
	require.Empty(t, found)
	_, stub, _ := strings.Cut(out, `<details class="stub" open>`)
	stub, _, closed := strings.Cut(stub, "</details>")
	require.True(t, closed)
	assert.Contains(t, stub, `<div class="code-bar">my/01-resume/next.go</div>`)
	assert.Contains(t, stub, "you write List.Next and List.Last", "the header of the file says what is asked")
	assert.NotContains(t, stub, "l.Items[0]", "the solution is what the learner writes")
	assert.Contains(t, stub, "l.Items[:n]", "the rest is given")
	assert.Less(t, strings.Index(out, "Write it."), strings.Index(out, stub))
	assert.Less(t, strings.Index(out, stub), strings.Index(out, "Hint 1"))
	assert.Equal(t, 1, strings.Count(out, `class="stub"`))
}

func TestALongStubIsFolded(t *testing.T) {
	out, found := exerciseText(t, "-- list/next.go --\npackage list\n\nfunc (l *List) Next() {}\nfunc (l *List) Last() {}\n"+strings.Repeat("\nfunc f() {}\n", 40))
	require.Empty(t, found)
	assert.Contains(t, out, `<details class="stub"><summary>`)
}

func TestAnExerciseWithoutHintsShowsTheStubAtItsEnd(t *testing.T) {
	out, found := exerciseText(t, "-- exercises/01-resume/README.md --\n---\ntitle: Resume\nchapter: 1\nreplaces: list/next.go\nfunction: List.Next\n---\n# Resume\n\nWrite it.\n")
	require.Empty(t, found)
	assert.Less(t, strings.Index(out, "Write it."), strings.Index(out, `class="stub"`))
}

func TestASectionToReadThatIsNotThereIsAnError(t *testing.T) {
	for _, c := range []struct{ reads, want string }{
		{`chapters/01-list/README.md, section "Next"`, `exercises/01-resume/README.md: reads: chapters/01-list/README.md has no section "Next"`},
		{`chapters/07-none/README.md`, `exercises/01-resume/README.md: reads: there is no text "chapters/07-none/README.md"`},
	} {
		_, found := exerciseText(t, fmt.Sprintf("-- exercises/01-resume/README.md --\n---\ntitle: Resume\nchapter: 1\nreplaces: list/next.go\nfunction: List.Next\nreads: %s\n---\n# Resume\n", c.reads))
		assert.EqualError(t, found.err(), c.want)
	}
}

func TestTheExercisesAreListedWithTheirChapters(t *testing.T) {
	s, err := openCourse(t, "")
	require.NoError(t, err)
	out, found := s.text(s.pages[exerciseList])
	require.Empty(t, found)
	assert.Contains(t, out, `<td><a href="01-resume/index.html">Resume</a></td>`)
	assert.Contains(t, out, `<td><a href="../chapters/01-list/index.html">1. List</a></td>`)
	assert.Contains(t, out, `<a href="../index.html#your-first-exercise">`)
	for at, p := range s.order {
		if p.file == exerciseList {
			page, _, err := s.vitePage(at)
			require.NoError(t, err)
			assert.Contains(t, page, "editLink: false\n", "there is no such file to edit")
			return
		}
	}
	t.Fatal("the list has no place in the menu")
}

func TestAListOfExercisesThatSomebodyWroteIsTaken(t *testing.T) {
	s, err := openCourse(t, "-- exercises/README.md --\n# All of them\n")
	require.NoError(t, err)
	assert.Equal(t, "All of them", s.pages[exerciseList].title)
}

func TestTheMenuSaysWhatIsAnExercise(t *testing.T) {
	s, err := openCourse(t, "")
	require.NoError(t, err)
	assert.Equal(t, "Exercise: Resume", s.menu[0].Items[0].Items[0].Title)
}
