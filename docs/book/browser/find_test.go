package browser

import (
	"cmp"
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

// program is a browser, and what its environment needs.
type program struct {
	path     string
	settings []string
}

var errNoBrowser = errors.New("no browser to load the pages with: install Chromium or Chrome, or set CHROME_PATH")

// findBrowser takes CHROME_PATH, or an installed browser, or the one that npm has,
// which CHROME_PATH=npm asks for.
func findBrowser(ctx context.Context) (program, error) {
	named := os.Getenv("CHROME_PATH")
	if named != "" && named != "npm" {
		return program{path: named}, nil
	}
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	} {
		if path, err := exec.LookPath(name); err == nil && named == "" {
			return program{path: path}, nil
		}
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		return browserOfNPM(ctx)
	}
	return program{}, errNoBrowser
}

// browserOfNPM installs a package that has a browser for Linux in it, and unpacks that
// and the libraries that it needs.
func browserOfNPM(ctx context.Context) (program, error) {
	if err := build.Packages(ctx, ".", io.Discard); err != nil {
		return program{}, fmt.Errorf("%w (npm has one, too, but: %w)", errNoBrowser, err)
	}
	dir, err := filepath.Abs(filepath.Join("node_modules", ".browser"))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return program{}, fmt.Errorf("unpacking a browser: %w", err)
	}
	unpack := exec.CommandContext(ctx, "node", "-e", `import('@sparticuz/chromium').then(async m => console.log(await m.default.executablePath()))`)
	// It brings its libraries only where it believes that it needs them.
	unpack.Env = append(os.Environ(), "TMPDIR="+dir, "AWS_EXECUTION_ENV=AWS_Lambda_nodejs22.x", "AWS_LAMBDA_JS_RUNTIME=nodejs22.x")
	path, err := unpack.Output()
	if err != nil {
		return program{}, fmt.Errorf("%w (npm has one, too, but it cannot be unpacked: %w)", errNoBrowser, err)
	}
	// Without any font it crashes, and its own list of fonts names a directory of somebody else.
	fonts := filepath.Join(dir, "fonts.conf")
	text := fmt.Sprintf("<?xml version=\"1.0\"?><fontconfig><dir>/usr/share/fonts</dir><dir>%s</dir><cachedir>%s</cachedir></fontconfig>\n",
		filepath.Join(dir, "fonts"), filepath.Join(dir, "cache"))
	if err := os.WriteFile(fonts, []byte(text), 0o644); err != nil {
		return program{}, fmt.Errorf("unpacking a browser: %w", err)
	}
	return program{path: strings.TrimSpace(string(path)), settings: []string{
		"LD_LIBRARY_PATH=" + filepath.Join(dir, "al2023", "lib"), "FONTCONFIG_FILE=" + fonts,
	}}, nil
}

// base is the path below which the book is published. BOOK_BASE=/ tests the book that
// people make for themselves; it differs by nothing else.
var base = cmp.Or(os.Getenv("BOOK_BASE"), "/loopwright/")

// theBook is built once for all tests; theBrowser loads its pages.
var (
	theBook    string
	theBrowser program
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		ctx := context.Background()
		var err error
		if theBrowser, err = findBrowser(ctx); err != nil {
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
		if built := os.Getenv("BOOK"); built != "" {
			theBook = built
		} else if err == nil {
			theBook = filepath.Join(out, "book")
			err = build.Book{Root: root, Out: theBook, Base: base, Log: io.Discard}.Build(ctx)
		}
		if errors.Is(err, build.ErrNoNode) {
			fmt.Println("skipped:", err)
			return 0
		}
		if err != nil {
			fmt.Println("building the book:", err)
			return 1
		}
		defer func() {
			if shared.stop != nil {
				shared.stop()
			}
		}()
		return m.Run()
	}())
}
