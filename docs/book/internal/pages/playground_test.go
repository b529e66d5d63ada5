package pages

import (
	"bytes"
	raster "image"
	"image/color"
	"image/gif"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runnable is a chapter with its two programs. The first can be played in memory, the second can't.
const runnable = `
-- chapters/02-watch/README.md --
# 2. Watch

## Break it

**Predict:** how many Pods
does ` + "`web`" + ` have, "really"?

<details>
<summary>Run it: <code>make chapter-2 NAIVE=1</code></summary>

<!-- output file=naive/testdata/output.txt -->
` + "```text" + `
None.
` + "```" + `

</details>

<details>
<summary>Answer</summary>

None.
</details>

## Run it

<details>
<summary><code>make chapter-2</code></summary>

<!-- output file=testdata/output.txt -->
` + "```text" + `
One.
` + "```" + `

</details>
-- chapters/02-watch/naive/main_test.go --
package main

func TestIt(t *testing.T) { demotest.InMemory(t, story) }
-- chapters/02-watch/main_test.go --
package main

func TestIt(t *testing.T) { demotest.Compare(t, story) }
`

func TestAChaptersProgramsCanBeRunWhereTheTextShowsTheirOutput(t *testing.T) {
	s, err := openCourse(t, runnable)
	require.NoError(t, err)
	out, found := s.text(s.pages["chapters/02-watch/README.md"])
	require.Empty(t, found)
	assert.Contains(t, out, `<loop-run program="02-watch/naive" question="how many Pods does web have, &#34;really&#34;?"></loop-run>
<details>
<summary>Run it: <code>make chapter-2 NAIVE=1</code></summary>`)
	assert.Contains(t, out, `<loop-run program="02-watch" question="what will it print?" needs="a real API server"></loop-run>
<details>
<summary><code>make chapter-2</code></summary>`)
	assert.Len(t, regexp.MustCompile("<loop-run").FindAllString(out, -1), 2, "an answer is no program")
}

func TestAPictureGivesItsPlaceToTheCluster(t *testing.T) {
	s, err := openCourse(t, "-- docs/text.md --\n# T\n\n<!-- playground -->\n![Pods](a.svg)\n\n<!-- playground small -->\n![Pods](a.svg)\n-- docs/a.svg --\n<svg/>\n")
	require.NoError(t, err)
	out, found := s.text(s.pages["docs/text.md"])
	require.Empty(t, found)
	assert.Contains(t, out, `<loop-cluster><img src="a.svg" alt="Pods"></loop-cluster>`)
	assert.Contains(t, out, `<loop-cluster small><img src="a.svg" alt="Pods"></loop-cluster>`)
	for _, wrong := range []string{"<!-- playground -->\nWords.", "<!-- playground -->\n![Pods](architecture.md) and words.", "<!-- playground tiny -->\n![Pods](architecture.md)"} {
		_, err := tryHTML(t, "# T\n\n"+wrong+"\n")
		assert.ErrorContains(t, err, "docs/text.md:4: the playground is the marker")
	}
}

// The film is ten times as large as the rest of the start page, and readers who see the cluster don't want it.
func TestAPageHasTheMiddleOfAFilmInThePlaceOfTheCluster(t *testing.T) {
	var film bytes.Buffer
	colors := color.Palette{color.Black, color.White, color.Transparent}
	dark := raster.NewPaletted(raster.Rect(0, 0, 3, 2), colors)
	light := raster.NewPaletted(raster.Rect(1, 0, 3, 1), colors) // the film has only what changes
	light.SetColorIndex(1, 0, 1)
	light.SetColorIndex(2, 0, 2)
	end := raster.NewPaletted(raster.Rect(0, 0, 1, 1), colors)
	end.SetColorIndex(0, 0, 1)
	require.NoError(t, gif.EncodeAll(&film, &gif.GIF{Image: []*raster.Paletted{dark, light, end}, Delay: []int{1, 3, 1}}))
	s, err := openCourse(t, "-- docs/text.md --\n# T\n\n<!-- playground -->\n![Pods](a.gif)\n\n![Pods](a.gif)\n-- docs/a.gif --\n"+film.String())
	require.NoError(t, err)
	out, found := s.text(s.pages["docs/text.md"])
	require.Empty(t, found)
	assert.Contains(t, out, `<loop-cluster><img src="a.gif.png" alt="Pods"></loop-cluster>`)
	assert.Contains(t, out, `<p><img src="a.gif" alt="Pods"></p>`)
	dir := t.TempDir()
	require.NoError(t, s.Write(dir))
	require.FileExists(t, filepath.Join(dir, "public", "docs", "a.gif"))
	still, err := os.Open(filepath.Join(dir, "public", "docs", "a.gif.png"))
	require.NoError(t, err)
	defer still.Close()
	picture, format, err := raster.Decode(still)
	require.NoError(t, err)
	assert.Equal(t, "png", format)
	var rows []string
	for y := range picture.Bounds().Dy() {
		row := ""
		for x := range picture.Bounds().Dx() {
			bright, _, _, _ := picture.At(x, y).RGBA()
			row += string(".#"[bright/0xffff])
		}
		rows = append(rows, row)
	}
	assert.Equal(t, []string{".#.", "..."}, rows)
}

// A chapter without the button would be noticed by nobody: its text is complete.
func TestEachChapterOffersItsTwoPrograms(t *testing.T) {
	s, err := Open("../../../..")
	require.NoError(t, err)
	offer := regexp.MustCompile(`<loop-run program="([^"]*)" question="([^"]{10,})"( needs="[^"]*")?></loop-run>`)
	chapters := 0
	for _, p := range s.order {
		if p.chapter == nil {
			continue
		}
		chapters++
		text, found := s.text(p)
		require.Empty(t, found)
		name := filepath.Base(p.chapter.Dir)
		var programs []string
		for _, match := range offer.FindAllStringSubmatch(text, -1) {
			programs = append(programs, match[1])
			needs := slices.Contains([]string{"16-apply", "19-testing", "17-webhook", "18-defaulting", "18-defaulting/naive"}, match[1])
			assert.Equal(t, needs, match[3] != "", "%s: only webhooks, server-side apply and bubbles need more than the page has", match[1])
		}
		assert.Equal(t, []string{name + "/naive", name}, programs)
	}
	directories, err := filepath.Glob("../../../../chapters/[0-9]*")
	require.NoError(t, err)
	assert.Equal(t, len(directories), chapters)
}
