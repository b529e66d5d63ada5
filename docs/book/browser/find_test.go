package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/loopwright/loopwright/docs/book/internal/build"
)

// browserPath finds a browser: CHROME_PATH, an installed one, or the one that npm has.
func browserPath(ctx context.Context) (string, error) {
	if path := os.Getenv("CHROME_PATH"); path != "" {
		return path, nil
	}
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		return browserOfNPM(ctx)
	}
	return "", errNoBrowser
}

var errNoBrowser = errors.New("no browser to load the pages with: install Chromium or Chrome, or set CHROME_PATH")

// browserOfNPM installs a package that has a browser in it, and unpacks that.
func browserOfNPM(ctx context.Context) (string, error) {
	if err := build.Packages(ctx, ".", io.Discard); err != nil {
		return "", fmt.Errorf("%w (npm has one, too, but: %w)", errNoBrowser, err)
	}
	const unpack = `import('@sparticuz/chromium').then(async m => console.log(await m.default.executablePath()))`
	path, err := exec.CommandContext(ctx, "node", "-e", unpack).Output()
	if err != nil {
		return "", fmt.Errorf("%w (npm has one, too, but it cannot be unpacked: %w)", errNoBrowser, err)
	}
	return strings.TrimSpace(string(path)), nil
}

// theBook is built once for all tests; theBrowser loads its pages.
var theBook, theBrowser string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		ctx := context.Background()
		var err error
		if theBrowser, err = browserPath(ctx); err != nil {
			fmt.Println("skipped:", err)
			return 0
		}
		out, err := os.MkdirTemp("", "book")
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer os.RemoveAll(out)
		root, err := filepath.Abs("../../..")
		if err == nil {
			theBook = filepath.Join(out, "book")
			err = build.Book{Root: root, Out: theBook, Base: "/", Log: io.Discard}.Build(ctx)
		}
		if errors.Is(err, build.ErrNoNode) {
			fmt.Println("skipped:", err)
			return 0
		}
		if err != nil {
			fmt.Println("building the book:", err)
			return 1
		}
		return m.Run()
	}())
}
