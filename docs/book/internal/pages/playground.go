package pages

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image"
	"image/draw"
	"image/gif"
	"image/png"
	"io"
	"os"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// The playground's elements, which book/book.js brings to life: <loop-cluster>, and <loop-run> for the
// program of a chapter. A page without scripts has the picture, and the output in its fold.

// playground is the text around the large one, which gets the whole width of the window.
const playground = "docs/playground.md"

// cluster is a picture whose place the cluster takes; of a film, a page loads the middle. On the start page it's a
// small cluster.
func (r *rendering) cluster(w util.BufWriter, node ast.Node, size string, entering bool) ast.WalkStatus {
	if !entering {
		_, _ = w.WriteString("</loop-cluster>\n")
		return ast.WalkContinue
	}
	if node.ChildCount() != 1 || node.FirstChild().Kind() != ast.KindImage || (size != "" && size != "small") {
		r.problem(node, errors.New("the playground is the marker <!-- playground --> or <!-- playground small --> and, below it, one picture and nothing else"))
	}
	_, _ = w.WriteString(strings.TrimSpace("<loop-cluster "+size) + ">")
	return ast.WalkContinue
}

// stillOf is the picture that a page loads in place of a film, which it shows only where the cluster can't run
// (book/book.js). Any other picture stays.
func stillOf(picture string) string {
	if path.Ext(picture) == ".gif" {
		return picture + ".png"
	}
	return picture
}

// writeStill makes a picture of the middle of a film: at its beginning, nothing has happened yet.
func writeStill(film []byte, file string) error {
	all, err := gif.DecodeAll(bytes.NewReader(film))
	if err != nil {
		return err
	}
	left := 0 // hundredths of a second until the middle
	for _, lasts := range all.Delay {
		left += lasts
	}
	left /= 2
	shown := image.NewRGBA(image.Rect(0, 0, all.Config.Width, all.Config.Height))
	for i, frame := range all.Image { // each has what's new (docs/book/internal/film)
		draw.Draw(shown, frame.Rect, frame, frame.Rect.Min, draw.Over)
		if left -= all.Delay[i]; left < 0 {
			break
		}
	}
	var still bytes.Buffer
	if err := png.Encode(&still, shown); err != nil {
		return err
	}
	return write(file, still.String())
}

// offerRun writes what runs a chapter's program, before the fold with the program's output.
func (r *rendering) offerRun(w io.Writer, node ast.Node, text string) {
	program, ok := r.printedIn(node, text)
	if !ok {
		return
	}
	test, err := os.ReadFile(r.site.repo.Abs(path.Join("chapters", program, "main_test.go")))
	if err != nil { // the playground's build wants a test for each program
		return
	}
	needs := ""
	if !bytes.Contains(test, []byte("demotest.InMemory")) {
		needs = ` needs="a real API server"`
	}
	question := "what will it print?"
	if asked, ok := node.PreviousSibling().(*ast.Paragraph); ok {
		if rest, ok := strings.CutPrefix(plain(asked, r.page.body), predict); ok {
			question = strings.TrimSpace(rest)
		}
	}
	fmt.Fprintf(w, "<loop-run program=\"%s\" question=\"%s\"%s></loop-run>\n", html.EscapeString(program), html.EscapeString(question), needs)
}

// predict is how a chapter asks before a run.
const predict = "Predict:"

// printedIn returns the program whose output is in the fold that begins here: "06-queue/naive".
func (r *rendering) printedIn(fold ast.Node, text string) (program string, ok bool) {
	marker := fold.NextSibling()
	if r.page.chapter == nil || !strings.HasPrefix(text, "<details>") || marker == nil || marker.NextSibling() == nil {
		return "", false
	}
	output, _ := marked(marker.NextSibling(), outputMarker)
	in, ok := strings.CutSuffix(output["file"], "testdata/output.txt")
	return path.Join(strings.TrimPrefix(r.page.chapter.Dir, "chapters/"), in), ok
}
