// Package figurestest holds the pictures of the chapters to the code that they show. A
// test lets the real code run and draws what it did (package figures); Check compares
// the drawing with the one in the chapter. So a picture cannot show what the code has
// ceased to do.
package figurestest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/loopwright/loopwright/internal/figures"
)

var update = flag.Bool("update", false, "write the figures of the chapters instead of comparing them")

// Check compares the picture with the file, or writes the file if the test was started
// with -update. The path is that from the directory of the test.
func Check(t testing.TB, picture *figures.Canvas, path string) {
	t.Helper()
	path = filepath.FromSlash(path)
	if *update {
		if err := os.WriteFile(path, []byte(picture.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	there, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the chapter has no figure: %v", err)
	}
	if string(there) != picture.String() {
		t.Errorf("%s no longer shows what the code does: draw it again with `go test -run %s . -update` here, look at it, and read the text around it in the chapter", path, t.Name())
	}
}
