package course

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twoExercises is the tiny course in which the second chapter has an exercise, too.
func twoExercises() map[string]string {
	const chapter, task = "chapters/02-mean/", "exercises/02-mean/"
	test := "package mini\n\nimport \"testing\"\n\nfunc TestAMean(t *testing.T) {}\n"
	return map[string]string{
		chapter + "chapter.yaml": tiny[chapter+"chapter.yaml"] + "exercise: {write: [Mean.Of]}\n",
		task + "README.md":       "Divide.\n",
		"mini/mean_test.go":      test,
	}
}

// What a learner submits is judged as it is on the learner's machine, and one small file is easy
// to send.
func TestWhatALearnerSubmitsReachesTheTeacher(t *testing.T) {
	t.Parallel()
	tree := twoExercises()
	tree["my/01-sum/sum.go"] = sum("return help(xs)")
	tree["my/01-sum/help.go"] = "package mini\n\nfunc help(xs []int) int { return len(xs) * 2 }"
	tree["my/01-sum/sum.go.1"] = "an older one"
	tree["my/02-mean/mean.go"] = tiny["mini/mean.go"]
	r := tinyTree(t, tree)
	n, err := r.newRunner(t.Context())
	require.NoError(t, err)
	require.NoError(t, n.linkPackage(theExercise(t, r)))
	var out strings.Builder
	require.NoError(t, r.Submit(t.Context(), "Ada Lovelace", &out))
	assert.Equal(t, `exercise  files
1         help.go, sum.go

Exercise 2 is left out: it is the reference.

Give your teacher the file my/Ada-Lovelace.txtar
`, out.String())
	submission := read(t, r, "my/Ada-Lovelace.txtar")
	assert.Equal(t, "The solutions of Ada-Lovelace, for `make class`.\n-- 01-sum/help.go --\n"+
		tree["my/01-sum/help.go"]+"\n-- 01-sum/sum.go --\n"+tree["my/01-sum/sum.go"], submission)

	dir := aClass(t, map[string]string{
		"Ada-Lovelace.txtar": submission,
		"ben/01-sum/sum.go":  sum("return 6"),
		"cleo.zip":           "PK",
		"dora.txtar":         "-- ../../../mini/sum.go --\npackage mini\n",
		"emil.txtar":         strings.Repeat("-- a --\n", largestFile/8+1),
		"fay/01-sum/sum.go":  strings.Repeat("//\n", largestFile/3+1),
		"list.txt":           "Ada, Ben, Cleo, Dora",
	})
	text, _ := classTable(t, r, dir, ClassOptions{})
	assert.True(t, strings.HasPrefix(text, `learner       1       solved
Ada-Lovelace  solved  1
ben           1 of 2  0

`), text)
	for _, left := range []string{
		"cleo.zip is left out: unpack it into a directory of its own\n",
		"dora.txtar is left out: cannot create fs.FS from txtar.Archive",
		"emil.txtar is left out: it has 1048584 bytes",
		"fay is left out: 01-sum/sum.go has 1048578 bytes",
	} {
		assert.Contains(t, text, left)
	}
	assert.NotContains(t, text, "list.txt")
}

// Two people at one machine have one my/.
func TestAPairSubmitsOnceUnderBothNames(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": sum("return len(xs) * 2")})
	require.NoError(t, r.Submit(t.Context(), "ada+ben", &strings.Builder{}))
	submission := read(t, r, "my/ada+ben.txtar")
	text, _ := classTable(t, r, aClass(t, map[string]string{"ada+ben.txtar": submission}), ClassOptions{})
	assert.Contains(t, text, "learner  1       solved\nada+ben  solved  1\n")

	s, dir := serverOf(t)
	code, body := s.answer(handingIn(t, "ada+ben.txtar", submission))
	assert.Equal(t, http.StatusOK, code, body)
	assert.Equal(t, map[string]string{"ada+ben.txtar": submission}, filesIn(t, dir))
}

func TestALearnerIsToldWhatCannotBeSubmitted(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	submit := func(name string) error { return r.Submit(t.Context(), name, &strings.Builder{}) }
	assert.ErrorContains(t, submit("ada"), "there is nothing of yours in my/ yet: `make exercise-1`")
	put(t, r.Root, "my/01-sum/sum.go", stub)
	assert.ErrorContains(t, submit("ada"), "yet: exercise 1 is open, write my/01-sum/sum.go\n")
	assert.ErrorContains(t, submit("ada"), "Exercise 1 is left out: it is still the stub.")
	put(t, r.Root, "my/01-sum/sum.go", sum("return 5")+"\nconst _ = `\n-- a --\n`\n")
	assert.ErrorContains(t, submit("ada"), "my/01-sum/sum.go has a line such as \"-- name --\"")
	put(t, r.Root, "my/01-sum/sum.go", sum("return 5"))
	long := strings.Repeat("a", 61)
	refused := []string{"ada/../../x", "../ada", ".ada", "-rf", "O'Brien", "a\"b", "a$b", long}
	for _, name := range refused {
		err := submit(name)
		assert.ErrorContains(t, err, "cannot be the name of your file", name)
		assert.ErrorContains(t, err, "`make submit NAME=ada`", name)
	}
	assert.ErrorContains(t, submit(" \n"), "who are you?")
	assert.NoError(t, submit("José Müller-2"))
	assert.FileExists(t, r.Abs("my/José-Müller-2.txtar"))
	assert.NoError(t, submit("Zoe\u0308"), "macOS may write a letter and its dots apart")
}

// Most learners have told git who they are.
func TestALearnerIsCalledWhatGitCallsThem(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"my/01-sum/sum.go": sum("return 5")})
	r.Env = append(r.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name",
		"GIT_CONFIG_VALUE_0=Grace Hopper")
	require.NoError(t, r.Submit(t.Context(), "", &strings.Builder{}))
	assert.FileExists(t, r.Abs("my/Grace-Hopper.txtar"))
	r.Env = append(r.Env, "GIT_CONFIG_VALUE_0=")
	assert.NotEmpty(t, r.learnersName(t.Context()), "without git's there is the user's")
}
