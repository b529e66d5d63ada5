package course

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// landmark is a part of the runtime on the map, and the chapters that build it.
type landmark struct {
	x, y, width float64
	name        string
	chapters    []int
}

// An event goes to the right along the upper row, and comes back as a write along the lower one.
var landmarks = []landmark{
	{150, 50, 120, "list and watch", []int{1, 19}},
	{300, 50, 110, "reflector", []int{3}},
	{440, 50, 140, "informer", []int{4, 5}},
	{480, 8, 60, "store", []int{2}},
	{610, 50, 120, "events", []int{9}},
	{760, 50, 120, "queue", []int{6, 7}},
	{760, 130, 120, "controller", []int{8}},
	{440, 130, 290, "Reconciler", []int{12, 15, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35}},
	{300, 130, 110, "cache", []int{11}},
	{150, 130, 120, "client", []int{10, 16, 19}},
	{20, 178, 100, "webhook", []int{17, 18}},
	{150, 178, 120, "lease", []int{13}},
	{300, 178, 580, "manager", []int{14}},
}

const landmarkHeight = 34

// theMap is the same for each chapter, with its part lit.
func theMap(c Chapter) *figures.Canvas {
	canvas := figures.New(222, "You are here", fmt.Sprintf("The way of an event through the runtime, and chapter %d's part of it: %s.", c.Number, litBy(c)))
	canvas.Resize(900, 222)
	for _, a := range [][4]float64{
		{120, 67, 150, 67}, {270, 67, 300, 67}, {410, 67, 440, 67}, {580, 67, 610, 67}, {730, 67, 760, 67},
		{820, 84, 820, 130}, {760, 147, 730, 147}, {440, 147, 410, 147}, {300, 147, 270, 147}, {150, 147, 120, 147},
		{510, 50, 510, 42}, {480, 84, 380, 130}, {70, 178, 70, 164},
	} {
		canvas.Arrow("", a[0], a[1], a[2], a[3])
	}
	canvas.Rect("panel", 20, 50, 100, 114, 6)
	canvas.Text("middle", 70, 112, "API server")
	for _, p := range landmarks {
		class, text := "box", "middle dim"
		if slices.Contains(p.chapters, c.Number) {
			class, text = "band", "middle bold"
		}
		canvas.Rect(class, p.x, p.y, p.width, landmarkHeight, 6)
		canvas.Text(text, p.x+p.width/2, p.y+22, p.name)
	}
	return canvas
}

func litBy(c Chapter) string {
	for _, p := range landmarks {
		if slices.Contains(p.chapters, c.Number) {
			return p.name
		}
	}
	return "nothing"
}

// mapOf is the picture in a text, and what it says to those who can't see it.
var mapOf = regexp.MustCompile(`\n!\[(You are here: an event's way from the API server and back to it\. This chapter .+\.)\]\(map\.svg\)\n`)

// A reader of a chapter wants to see where in the whole it is, or to hear it. If a chapter is new, run this
// test with -update.
func TestEachChapterHasTheMapWithItsPartLit(t *testing.T) {
	r, err := Open("../..")
	require.NoError(t, err)
	chapters, err := r.written()
	require.NoError(t, err)
	said := map[string]string{} // by whom
	for _, c := range chapters {
		require.NotEqual(t, "nothing", litBy(c), "chapter %d has no place on the map", c.Number)
		figurestest.Check(t, theMap(c), r.Abs(path.Join(c.Dir, "map.svg")))
		text, err := r.read(c.Readme())
		require.NoError(t, err)
		beginning, _, _ := strings.Cut(string(text), "\n## ")
		found := mapOf.FindStringSubmatch(beginning)
		require.NotNil(t, found, "%s does not show its map, with an alt text like %s", c.Readme(), mapOf)
		require.Contains(t, found[1], litBy(c), "the map of %s has another part lit", c.Readme())
		require.Empty(t, said[found[1]], "the map of %s says the same to those who can't see it: name what this chapter builds", c.Readme())
		said[found[1]] = c.Readme()
	}
}
