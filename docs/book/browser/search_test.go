package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheSearchFindsAWordAndLeadsToIt(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/docs/architecture"), click(`.DocSearch-Button`),
		chromedp.SendKeys(chromedp.CSS(`.VPLocalSearchBox input`), "bookmarks"),
		until(`[...document.querySelectorAll('.VPLocalSearchBox .result')].some(r => r.getAttribute('href').endsWith('/chapters/01-list-watch/library#bookmarks'))`),
		in(`document.querySelector('.VPLocalSearchBox .result[href$="/chapters/01-list-watch/library#bookmarks"]').click()`),
		until(`@path === '/chapters/01-list-watch/library'`), until(ready)))
	expectHere(t, b, "/chapters/01-list-watch/library#bookmarks The library: list and watch")
	assert.Empty(t, b.wrong())
}

func TestTheSearchFindsAWordInAFolder(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(fromFolder("docs/architecture.html")), click(`.DocSearch-Button`),
		chromedp.SendKeys(chromedp.CSS(`.folder-search input`), "bookmarks"),
		until(`[...document.querySelectorAll('.folder-search a')].some(r => r.href.endsWith('#bookmarks'))`),
		in(`document.querySelector('.folder-search a[href$="/chapters/01-list-watch/library.html#bookmarks"]').click()`),
		until(`location.pathname.endsWith('/chapters/01-list-watch/library.html')`), until(ready)))
	title, err := get[string](b, `document.querySelector(':target').innerText`)
	require.NoError(t, err)
	assert.Contains(t, title, "Bookmarks")
	assert.Empty(t, b.wrong())
}

// found lists the addresses of the results, below the book's, the best first.
const found = `[...document.querySelectorAll('.VPLocalSearchBox .result, .folder-search li a')].map(r =>
	new URL(r.getAttribute('href'), location).href.replace(/^.*?(?=\/(docs|chapters|exercises)\/)/, '').replace(/index\.html|\.html/, ''))`

// A number that is nearly the same is another one, and a word that is nearly the same may be a slip.
func TestTheSearchShowsFirstWhatExplainsTheWord(t *testing.T) {
	browser, address := start(t)
	for _, c := range []struct{ page, input, typed, first string }{
		{address + "/docs/architecture", ".VPLocalSearchBox input", "410", "/docs/glossary#term-410-gone"},
		{fromFolder("docs/architecture.html"), ".folder-search input", "410", "/docs/glossary#term-410-gone"},
		{fromFolder("docs/architecture.html"), ".folder-search input", "tombstome", "/docs/glossary#term-tombstone"},
		{fromFolder("docs/architecture.html"), ".folder-search input", "read your writes", "/docs/glossary#term-read-your-writes"},
	} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(desktop), open(c.page), click(`.DocSearch-Button`), chromedp.SendKeys(chromedp.CSS(c.input), c.typed)))
		if err := b.do(until(found + `[0] === "` + c.first + `"`)); err != nil {
			addresses, _ := get[[]string](b, found)
			assert.Equal(t, c.first, addresses, "%s: the first result for %q", c.page, c.typed)
		}
		assert.Empty(t, b.wrong())
	}
}

func TestEachResultOfASearchShowsHowItsTextBegins(t *testing.T) {
	browser, address := start(t)
	for _, book := range []struct{ page, input, text string }{
		{address + "/docs/architecture", ".VPLocalSearchBox input", ".VPLocalSearchBox .result .excerpt"},
		{fromFolder("docs/architecture.html"), ".folder-search input", ".folder-search .folder-excerpt"},
	} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(desktop), open(book.page), click(`.DocSearch-Button`), chromedp.SendKeys(chromedp.CSS(book.input), "410"),
			until(`document.querySelector("`+book.text+`")?.innerText.includes("when it no longer knows the history")`)))
		require.NoError(t, keep(b, "search"))
		assert.Empty(t, b.wrong())
	}
}

// A fact at the head of an exercise ends where the next one begins: "Finalizersyou" is no word.
func TestTheSearchKnowsWhereAWordEnds(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(fromFolder("docs/architecture.html")), click(`.DocSearch-Button`),
		chromedp.SendKeys(chromedp.CSS(`.folder-search input`), "Finalizers you write"),
		until(`[...document.querySelectorAll('.folder-excerpt')].some(r => r.innerText.includes('Finalizers you write'))`)))
	glued, err := get[bool](b, `[...document.querySelectorAll('.folder-excerpt')].some(r => /[a-z](you write|tested by)/.test(r.innerText))`)
	require.NoError(t, err)
	assert.False(t, glued)
	assert.Empty(t, b.wrong())
}

func TestASearchThatFindsNothingSaysSo(t *testing.T) {
	browser, address := start(t)
	for _, book := range []struct{ page, box string }{
		{address + "/docs/architecture", ".VPLocalSearchBox"},
		{fromFolder("docs/architecture.html"), ".folder-search"},
	} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(desktop), open(book.page), click(`.DocSearch-Button`),
			chromedp.SendKeys(chromedp.CSS(book.box+" input"), "xyzzyplugh"),
			until(`document.querySelector("`+book.box+`").innerText.includes("No results for")`)))
		assert.Empty(t, b.wrong())
	}
}
