package pages

import (
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
	return s.text(s.pages["exercises/01-list/README.md"])
}

func TestAnExerciseBeginsWithHowToBegin(t *testing.T) {
	out, found := exerciseText(t, "")
	require.Empty(t, found)
	for _, want := range []string{
		`<a href="../../index.html#your-first-exercise">get the repository</a>`,
		"Then <code>make exercise-1</code> writes <code>my/01-list/listwatch.go</code> for you",
		`<b>To read first:</b> <a href="../../chapters/01-list/index.html">chapter 1</a>.`,
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
	assert.Contains(t, stub, `<div class="code-bar">my/01-list/listwatch.go</div>`)
	assert.Contains(t, stub, "you write List.Next and List.Last", "the header of the file says what is asked")
	assert.NotContains(t, stub, "l.Items[0]", "the solution is what the learner writes")
	assert.Contains(t, stub, "l.Items[:n]", "the rest is given")
	assert.Less(t, strings.Index(out, "Write it."), strings.Index(out, stub))
	assert.Less(t, strings.Index(out, stub), strings.Index(out, "Hint 1"))
	assert.Equal(t, 1, strings.Count(out, `class="stub"`))
}

func TestALongStubIsFolded(t *testing.T) {
	out, found := exerciseText(t, "-- mini/listwatch.go --\npackage mini\n\nfunc (l *List) Next() {}\nfunc (l *List) Last() {}\n"+strings.Repeat("\nfunc f() {}\n", 40))
	require.Empty(t, found)
	assert.Contains(t, out, `<details class="stub"><summary>`)
}

func TestAnExerciseWithoutHintsShowsTheStubAtItsEnd(t *testing.T) {
	out, found := exerciseText(t, "-- exercises/01-list/README.md --\n# Write it\n\nWrite it.\n")
	require.Empty(t, found)
	assert.Less(t, strings.Index(out, "Write it."), strings.Index(out, `class="stub"`))
}

func TestAnExercisePageEndsWithTheTaskThatGoesFurther(t *testing.T) {
	out, found := exerciseText(t, "-- exercises/01-list/README.md --\n# Write it\n\nWrite it.\n\n<details>\n<summary>Hint 1</summary>\n\nTry.\n</details>\n\n## Go further\n\nWrite more.\n")
	require.Empty(t, found)
	assert.Equal(t, 1, strings.Count(out, `class="stub"`))
	assert.Less(t, strings.Index(out, "Hint 1"), strings.Index(out, "Go further"), "it's for those who have solved the exercise")
	assert.Contains(t, out, "Write more.")
}

func TestTheMenuSaysWhatIsAnExercise(t *testing.T) {
	s, err := openCourse(t, "")
	require.NoError(t, err)
	assert.Equal(t, "Exercise: write listwatch.go", s.menu[0].Items[0].Items[0].Title)
}
