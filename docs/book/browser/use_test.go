package browser

import (
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inColors is what the system prefers: "dark" or "light".
func inColors(look string) step {
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look}},
	})
}

func click(selector string) step { return chromedp.Click(chromedp.CSS(selector)) }

// here is the address below the book's, and the title of the page.
const here = `@path + location.hash + ' ' + document.querySelector('h1')?.innerText.replace(/\u200B/g, '').trim()`

// expectHere waits for the page; if it does not come, it says which one is there.
func expectHere(t *testing.T, b *tab, want string) {
	t.Helper()
	if err := b.do(until(here + " === " + strconv.Quote(want))); err == nil {
		return
	}
	at, err := get[string](b, here)
	require.NoError(t, err)
	require.Equal(t, want, at)
}

func TestTheStartPageLeadsToTheFirstChapterAndThePlayground(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/"), click(`.VPHero .VPButton.brand`),
		until(`@path === '/chapters/01-list-watch/' && document.querySelector('h1')`), until(ready)))
	expectHere(t, b, "/chapters/01-list-watch/ 1. List, then watch")
	require.NoError(t, b.do(open(address+"/"), click(`.VPHero .VPButton.alt`),
		until(`@path === '/docs/playground' && document.querySelector('h1')`)))
	expectHere(t, b, "/docs/playground The playground")
	assert.Empty(t, b.wrong())
}

// VitePress changes the address and the page without loading one. Links that were
// written for the first page must still lead to the right one, and diagrams appear.
func TestLinksHoldAfterVitePressHasTurnedThePage(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/docs/architecture"),
		click(`.VPSidebar a[href$="/chapters/03-reflector/"]`), until(`@path === '/chapters/03-reflector/'`), until(ready),
		until(`document.querySelector('.diagram-picture svg')`)))
	expectHere(t, b, "/chapters/03-reflector/ 3. The reflector")
	require.NoError(t, b.do(click(`.VPSidebar a[href$="/exercises/03-reflector/"]`)))
	expectHere(t, b, "/exercises/03-reflector/ Write my/03-reflector/reflector.go") // the address comes first, its page and the pager later
	require.NoError(t, b.do(until(ready), click(`.pager-link.next`)))
	expectHere(t, b, "/chapters/03-reflector/library The library: the reflector")
	require.NoError(t, b.do(in(`document.querySelector('.vp-doc a[href="./"], .vp-doc a[href$="/chapters/03-reflector/"], .vp-doc a[href="index.html"]').click()`), until(`@path === '/chapters/03-reflector/'`), until(ready)))
	expectHere(t, b, "/chapters/03-reflector/ 3. The reflector")
	const links = `[...document.querySelectorAll('.VPNav a, .VPSidebar a, .VPDocFooter a, .vp-doc a')].map(a => a.href.replace(/(index)?\.html/, ''))`
	turned, err := get[[]string](b, links)
	require.NoError(t, err)
	require.NoError(t, b.do(chromedp.Reload(), until(ready)))
	loaded, err := get[[]string](b, links)
	require.NoError(t, err)
	assert.Equal(t, loaded, turned, "the links of a page are the same, however one came there")
	assert.Empty(t, b.wrong())
}

func TestDarkCanBeSwitchedOnAServerAndInAFolder(t *testing.T) {
	browser, address := start(t)
	for _, page := range []string{address + "/chapters/01-list-watch/", fromFolder("chapters/01-list-watch/index.html")} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(desktop), inColors("light"), open(page),
			until(`getComputedStyle(document.querySelector('.diagram text')).fill === 'rgb(36, 41, 47)'`), click(`.VPNavBarAppearance .VPSwitchAppearance`),
			until(`document.documentElement.classList.contains('dark')`),
			until(`getComputedStyle(document.querySelector('.diagram text')).fill === 'rgb(224, 230, 238)'`)))
		color, err := get[string](b, `getComputedStyle(document.body).backgroundColor`)
		require.NoError(t, err)
		assert.NotEqual(t, "rgb(255, 255, 255)", color, page)
		require.NoError(t, b.do(open(page)))
		dark, err := get[bool](b, `document.documentElement.classList.contains('dark')`)
		require.NoError(t, err)
		assert.True(t, dark, "%s: the choice must be remembered", page)
		assert.Empty(t, b.wrong())
	}
}

func TestAFoldOpensWithTheKeyboard(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/exercises/03-reflector/"),
		in(`[...document.querySelectorAll('summary')].find(s => s.textContent === 'Hint 2').focus()`), chromedp.KeyEvent(kb.Enter)))
	shown, err := get[string](b, `[...document.querySelectorAll('details[open]:not(.stub) > summary')].map(s => s.textContent).join()`)
	require.NoError(t, err)
	assert.Equal(t, "Hint 2", shown)
}

func TestADiagramThatIsTooWideCanBeEnlarged(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/docs/architecture"), click(`.diagram-larger`), until(`document.querySelector('dialog[open] svg')`)))
	require.NoError(t, keep(b, "enlarged"))
	require.NoError(t, b.do(chromedp.KeyEvent(kb.Escape), until(`!document.querySelector('dialog')`)))
	assert.Empty(t, b.wrong())
}
