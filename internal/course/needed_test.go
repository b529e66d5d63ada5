package course

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Learners wait for the compiler each time they save: it gets the tests of their file, and what these use.
func TestOnlyTheTestsThatAnExerciseUsesAreCompiled(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{
		"mini/sum_test.go":    "package mini\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) { new(world).count(t); direct(t) }\n",
		"mini/direct_test.go": "package mini\n\nimport \"testing\"\n\nfunc direct(t *testing.T) { indirect(t) }\n\ntype world struct{}\n",
		"mini/method_test.go": "package mini\n\nimport \"testing\"\n\nfunc (*world) count(*testing.T) {}\n",
		"mini/through_test.go": "package mini\n\nimport \"testing\"\n\n" +
			"func indirect(*testing.T) {}\n\ntype local struct{}\n\nfunc (local) hidden() {}\n",
		"mini/mine_test.go":   "package mini\n\nfunc forLearners() {}\n",
		"mini/unused_test.go": "package mini\n\ntype other struct{}\n\nfunc (other) count() {}\n\nfunc unused() { direct := 1; _ = direct }\n",
		"mini/apart_test.go":  "package mini_test\n\nfunc direct() {}\n",
		"my/own_test.go":      "package mini\n\nfunc TestMine() { forLearners() }\n\nthe compiler says it better",
	})
	e := theExercise(t, r)
	unused := func(added Overlay) (files []string) {
		overlay, err := r.overlay(e, added)
		require.NoError(t, err)
		for _, file := range sortedKeys(overlay) {
			if overlay[file] == "" && file != "mini/mean.go" {
				files = append(files, file)
			}
		}
		return files
	}
	assert.Equal(t, []string{"mini/apart_test.go", "mini/mine_test.go", "mini/unused_test.go"}, unused(nil))
	assert.Equal(t, []string{"mini/apart_test.go", "mini/unused_test.go"}, unused(Overlay{"mini/own_test.go": "my/own_test.go"}), "a learner's tests use others")
}
