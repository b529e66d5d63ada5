package course

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests of two programs have the same name, and share a binary. A third has a TestMain, a fourth has its test in
// another package, and a fifth embeds a file: each of them has a binary of its own.
func TestTheTestsOfAllProgramsRunEachWhereItBelongs(t *testing.T) {
	t.Parallel()
	programs := map[string]string{
		"chapters/01-sum/main_test.go": `package main

import (
	"os"
	"testing"
)

func answer() int { return 23 }

func TestTheAnswer(t *testing.T) {
	if _, err := os.Stat("chapter.yaml"); err != nil {
		t.Errorf("not in the directory of chapter 1: %v", err)
	}
	if answer() != 23 {
		t.Error("the answer of another program")
	}
}
`,
		"chapters/01-sum/naive/main_test.go": `package main

import "testing"

type quiz struct{}

func (quiz) TestMe() int { return 40 }

func answer() int { return quiz{}.TestMe() }

func TestTheAnswer(t *testing.T) {
	if answer() != 40 {
		t.Error("the answer of another program")
	}
}
`,
		"chapters/01-sum/alone/main_test.go": `package alone

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	fmt.Println("the cluster starts")
	os.Exit(m.Run() + 1) // a failure, so that go test shows what was printed
}

func TestTheAnswer(t *testing.T) {}
`,
		"chapters/01-sum/outside/main_test.go": `package outside_test

import "testing"

func TestTheAnswer(t *testing.T) { t.Error("from outside") }
`,
		"chapters/01-sum/outside/outside.go": "package outside\n",
		"chapters/01-sum/embeds/embeds.go":   "package embeds\n\nimport _ \"embed\"\n\n//go:embed text\nvar text string\n",
		"chapters/01-sum/embeds/text":        "embedded",
		"chapters/01-sum/embeds/text_test.go": `package embeds

import "testing"

func TestTheText(t *testing.T) { t.Log(text) }
`,
	}
	tests := func(changed string) (said string, err error) {
		files := map[string]string{}
		for name, text := range programs {
			files[name] = strings.ReplaceAll(text, "return 40", changed)
		}
		var out strings.Builder
		err = tinyTree(t, files).TestPrograms(t.Context(), &out, "-v")
		return out.String(), err
	}

	said, err := tests("return 40")
	require.Error(t, err)
	assert.Contains(t, said, "ok  \texample.com/tiny/chapters\t")
	assert.Contains(t, said, "the cluster starts")
	assert.Contains(t, said, "from outside")
	assert.Contains(t, said, "text_test.go:5: embedded")

	said, err = tests("return 41")
	require.Error(t, err)
	assert.Contains(t, said, "--- FAIL: Test_program_01_sum_naive/TestTheAnswer")
	assert.Contains(t, said, "main_test.go:13: the answer of another program", "the line is that of the real file")
	assert.NotContains(t, said, "not in the directory")
}
