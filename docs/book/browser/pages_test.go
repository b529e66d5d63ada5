package browser

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bookPages lists the pages that VitePress built, and a few of the many source pages. Slides have a size of their own, and a
// test of their own.
func bookPages(t *testing.T) (pages []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(theBook), ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && file == "source" {
			return fs.SkipDir
		}
		if err == nil && path.Ext(file) == ".html" && file != "404.html" && entry.Name() != "slides.html" {
			pages = append(pages, file)
		}
		return err
	}))
	require.Greater(t, len(pages), 60, "most of the book is missing")
	return append(pages, sourcePages...)
}

var sourcePages = []string{
	"source/index.html", "source/informer/index.html", "source/informer/reflector_machine.go.html", "source/docs/workshops.yaml.html",
}

// What is checked on each page, in its own words. An empty list is a good page. The width is what the screen has: on a phone,
// window.innerWidth grows with what sticks out.
const inspect = `(width => {
	const wrong = []
	const sideways = when => {
		const by = document.documentElement.scrollWidth - width
		if (by <= 0) return
		const wide = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > width + 1)
		wrong.push('scrolls sideways by ' + by + ' pixels' + when + ', because of ' + wide.slice(0, 3).map(e => e.tagName + '.' + e.className).join(', '))
	}
	if (!document.querySelector('h1, main, .VPHero')) wrong.push('has no content')
	for (const diagram of document.querySelectorAll('.diagram'))
		if (!diagram.querySelector('.diagram-picture svg'))
			wrong.push('a diagram is not drawn: ' + diagram.textContent.slice(0, 60))
	for (const image of document.images)
		if (!image.complete || !image.naturalWidth) wrong.push('the picture ' + image.src + ' is not there')
	sideways('')
	for (const fold of document.querySelectorAll('details')) {
		if (!fold.open) fold.querySelector('summary').click()
		if (!fold.open) wrong.push('a fold does not open: ' + fold.textContent.slice(0, 60))
	}
	sideways(' with all folds open')
	return wrong
})`

// widths are those in which pages are loaded. What fits a phone fits a desktop, as a rule, so -short leaves that out.
func widths() []int64 {
	if testing.Short() {
		return []int64{phone}
	}
	return []int64{phone, desktop}
}

func TestEveryPageLoadsWithoutAnErrorAndFitsTheScreenOfAPhone(t *testing.T) {
	browser, address := start(t)
	type load struct {
		page  string
		width int64
	}
	loads := make(chan load)
	var workers sync.WaitGroup
	for range 3 {
		b := newTab(t, browser)
		workers.Go(func() {
			for l := range loads {
				for _, problem := range b.inspect(address+"/"+l.page, l.width) {
					t.Errorf("%s, %d pixels wide: %s", l.page, l.width, problem)
				}
			}
		})
	}
	for _, page := range bookPages(t) {
		page = strings.TrimSuffix(strings.TrimSuffix(page, "index.html"), ".html")
		if strings.HasPrefix(page, "source/") && !strings.HasSuffix(page, "/") {
			page += ".html"
		}
		for _, pixels := range widths() {
			loads <- load{page, pixels}
		}
	}
	close(loads)
	workers.Wait()
}

// inspect loads a page and returns what is wrong with it.
func (b *tab) inspect(address string, pixels int64) []string {
	b.wrong()
	if err := b.do(width(pixels), open(address)); err != nil {
		return append(b.wrong(), err.Error())
	}
	wrong, err := get[[]string](b, fmt.Sprintf("%s(%d)", inspect, pixels))
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	return append(wrong, b.wrong()...)
}

func TestTheBookWorksFromAFolder(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	for _, page := range append([]string{
		"index.html", "chapters/03-reflector/index.html", "exercises/03-reflector/index.html", "docs/architecture.html",
	}, sourcePages...) {
		for _, pixels := range widths() {
			for _, problem := range b.inspect(fromFolder(page), pixels) {
				t.Errorf("%s, %d pixels wide: %s", page, pixels, problem)
			}
		}
	}
}

func TestAPageThatIsNotThereSaysSo(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(chromedp.Navigate(address+"/nothing/of/the/kind"), until(`document.querySelector('.NotFound')`)))
	text, err := get[string](b, `document.querySelector('.NotFound').textContent`)
	require.NoError(t, err)
	assert.Contains(t, text, "404")
}

// Pictures for people who look at the book; nobody compares them.
func TestPicturesAreTaken(t *testing.T) {
	if os.Getenv("BOOK_SCREENSHOTS") == "" {
		t.Skip("BOOK_SCREENSHOTS names no directory")
	}
	browser, address := start(t)
	b := newTab(t, browser)
	for _, page := range []string{
		"", "chapters/01-list-watch/", "chapters/01-list-watch/#build-it", "chapters/03-reflector/library#what-it-reports",
		"chapters/01-list-watch/#questions", "exercises/03-reflector/", "docs/architecture", "docs/generated/api", "docs/generated/originals", "docs/glossary", "mini/", "source/informer/listwatch.go.html#L20", "source/informer/",
	} {
		for _, look := range []string{"light", "dark"} {
			for _, pixels := range []int64{desktop, phone} {
				name := fmt.Sprintf("%s-%s-%d", strings.NewReplacer("/", "_", "#", "_").Replace("start/"+page), look, pixels)
				require.NoError(t, b.do(width(pixels), inColors(look), open(address+"/"+page)))
				require.NoError(t, keep(b, name))
			}
		}
	}
}
