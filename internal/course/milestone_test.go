package course

import (
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryMilestoneOfATreeInOrderHolds(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, tinyTree(t, nil).Milestones(t.Context(), false, &out), "%s", &out)
	assert.Contains(t, out.String(), "milestone 1, Sum: 3 packages, 1 later files hidden")
	assert.Contains(t, out.String(), "milestone 2, Mean: 4 packages, 0 later files hidden")
}

func TestAFileThatNeedsALaterOneBreaksItsMilestone(t *testing.T) {
	t.Parallel()
	tree := changed(t, "chapters/01-sum/README.md", "[sum/*.go]", "[sum/sum.go, sum/sum_test.go, sum/early.go]")
	tree["chapters/02-mean/README.md"] = strings.Replace(tiny["chapters/02-mean/README.md"], "- mean/mean.go", "- mean/mean.go\n  - sum/later.go", 1)
	tree["sum/early.go"] = "package sum\n\nvar early = later\n"
	tree["sum/later.go"] = "package sum\n\nconst later = 1\n"
	r := tinyTree(t, tree)

	var out strings.Builder
	err := r.Milestone(t.Context(), 1, true, &out)
	assert.ErrorContains(t, err, "milestone 1 does not hold, go build")
	assert.Contains(t, out.String(), "undefined: later")
	assert.NoError(t, r.Milestone(t.Context(), 2, true, io.Discard))
}

// slow stands for a test that needs a cluster: it fails where there is none.
const slow = "package sum\n\nimport \"testing\"\n\nfunc TestSumOnACluster(t *testing.T) {\n\tif !testing.Short() {\n\t\tt.Fatal(\"no cluster\")\n\t}\n}\n"

func TestOnlyTheNewestMilestoneRunsTheSlowTests(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"sum/slow_test.go": slow})
	var out strings.Builder
	assert.NoError(t, r.Milestones(t.Context(), true, &out))
	assert.Contains(t, out.String(), "milestone 2 is the whole tree: its tests are those of `go test ./...`, and not run here")
	err := r.Milestones(t.Context(), false, io.Discard)
	assert.ErrorContains(t, err, "milestone 2 does not hold, go test", "milestone 1 is proven with -short")
}

// A chapter's own tests cost a binary each, and there are many chapters.
func TestOnlyItsOwnMilestoneAndTheNewestRunAChaptersTests(t *testing.T) {
	t.Parallel()
	tree := maps.Clone(tiny)
	own := "package main\n\nimport \"testing\"\n\nfunc TestOfTheChapter(*testing.T) {}\n"
	for _, dir := range []string{"chapters/01-sum", "chapters/02-mean", "chapters/03-median"} {
		tree[dir+"/main_test.go"] = own
	}
	tree["chapters/02-mean/main.go"] = "package main\n\nfunc main() {}\n"
	tree["chapters/03-median/main.go"] = "package main\n\nfunc main() {}\n"
	tree["chapters/03-median/README.md"] = "---\ntitle: Median\npart: 2\nminutes: 3\n---\n"
	r := tinyTree(t, tree)

	tested := func(out string) []string {
		var lists []string
		for milestone := range strings.SplitSeq(out, "milestone ") {
			var dirs []string
			for _, dir := range []string{"01-sum", "02-mean", "03-median"} {
				if strings.Contains(milestone, "example.com/tiny/chapters/"+dir+"\t") {
					dirs = append(dirs, dir)
				}
			}
			if milestone != "" {
				lists = append(lists, strings.Join(dirs, " "))
			}
		}
		return lists
	}
	var all, one strings.Builder
	require.NoError(t, r.Milestones(t.Context(), false, &all), "%s", &all)
	assert.Equal(t, []string{"01-sum", "02-mean", "01-sum 02-mean 03-median"}, tested(all.String()))
	require.NoError(t, r.Milestone(t.Context(), 2, true, &one), "%s", &one)
	assert.Equal(t, []string{"01-sum 02-mean"}, tested(one.String()), "who asks for one milestone gets all of it")
}

func TestAnExerciseNeedsNoCluster(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, map[string]string{"sum/slow_test.go": slow, "my/01-sum/sum.go": tiny["sum/sum.go"]})
	solved, err := r.Try(t.Context(), theExercise(t, r), false, io.Discard)
	assert.NoError(t, err)
	assert.True(t, solved)
}

func TestAnOverlayEntryThatPointsNowhereIsRefused(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	for _, c := range []struct {
		overlay Overlay
		want    string
	}{
		{Overlay{"sum/som.go": "sum/sum.go"}, "sum/som.go, which does not exist: the go command would ignore that silently"},
		{Overlay{"sum/sum.go": "my/01-sum/sum.go"}, "by my/01-sum/sum.go, which does not exist"},
		{Overlay{"sum/som.go": ""}, "sum/som.go, which does not exist"},
	} {
		_, _, err := c.overlay.write(r, nil)
		assert.ErrorContains(t, err, c.want)
	}
}
