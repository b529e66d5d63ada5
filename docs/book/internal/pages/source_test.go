package pages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// `make bench` writes such a text. It has not always been written.
func TestTheReportOfTheBenchmarksIsPartOfTheReferenceWithItsPlotsAndFiles(t *testing.T) {
	s, err := openCourse(t, "-- docs/benchmarks.md --\n# Ours\n\n| file |\n|---|\n| [a_test.go](../benchmarks/a/a_test.go) |\n\n![Over workers](plots/throughput.svg)\n"+
		"-- docs/plots/throughput.svg --\n<svg/>\n-- benchmarks/a/a_test.go --\npackage a\n-- docs/measuring.md --\n# Measuring\n")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, s.Write(dir))
	page, err := os.ReadFile(filepath.Join(dir, "pages", "docs", "benchmarks.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), `<img src="plots/throughput.svg" alt="Over workers">`)
	assert.FileExists(t, filepath.Join(dir, "public", "docs", "plots", "throughput.svg"))
	assert.FileExists(t, filepath.Join(dir, "public", "source", "benchmarks", "a", "a_test.go.html"))
	var titles []string
	for _, entry := range s.menu[len(s.menu)-2].Items {
		titles = append(titles, entry.Title)
	}
	assert.Equal(t, []string{"Architecture", "Ours", "Measuring"}, titles)
}
