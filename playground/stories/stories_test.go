package stories_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	light "github.com/loopwright/loopwright/playground/light/demotest"
	"github.com/loopwright/loopwright/playground/stories"
)

// PRINTED names a file with what the programs printed in a page, as JSON. The test of package build
// sets it.
const printed = "PRINTED"

// The book says what a program prints, and a reader who runs it on the page compares.
func TestEachProgramPrintsWhatItsChapterShows(t *testing.T) {
	if len(stories.All) == 0 {
		t.Skip("there are programs only in an overlay: go test ./playground/build")
	}
	inPage := map[string]string{}
	if file := os.Getenv(printed); file != "" {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &inPage))
		require.NotEmpty(t, inPage)
		for name := range inPage {
			require.Contains(t, stories.All, name)
		}
	}
	for name, p := range inorder.Map(stories.All) {
		t.Run(name, func(t *testing.T) {
			shown, err := os.ReadFile(filepath.Join("..", "..", "chapters", filepath.FromSlash(name), "testdata", "output.txt"))
			require.NoError(t, err)
			same := func(t *testing.T, text string) {
				t.Helper()
				var rules []demotest.Rule
				for _, r := range p.Rules {
					rules = append(rules, demotest.Rule(r))
				}
				demotest.Same(t, string(shown), text, rules...)
			}
			if text, ran := inPage[name]; ran {
				t.Run("in a page", func(t *testing.T) { same(t, text) })
			}
			t.Run("in memory", func(t *testing.T) { same(t, play(t, p)) })
		})
	}
}

// play plays a program in a bubble, and returns what it has printed.
func play(t *testing.T, p light.Program) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		stages := 0
		require.NoError(t, stories.Play(t.Context(), p, &out, func(*demo.Demo) { stages++ }), "%s", &out)
		require.Equal(t, 1, stages)
	})
	return out.String()
}

// A reader who goes back to the text must not leave a program running in the page.
func TestAProgramThatIsCancelledLeavesNothingRunning(t *testing.T) {
	if len(stories.All) == 0 {
		t.Skip("there are programs only in an overlay: go test ./playground/build")
	}
	for _, p := range inorder.Map(stories.All) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			// An error, or none: some stories look for the end of ctx only where they wait.
			_ = stories.Play(ctx, p, io.Discard, func(*demo.Demo) { cancel() })
			time.Sleep(time.Hour) // a worker may sleep when it's cancelled
		})
	}
}
