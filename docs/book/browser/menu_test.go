package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page that is shown is marked, and its mark is in sight, below the bar and above the end of the screen.
const markInSight = `(() => {
	const row = document.querySelector('.VPSidebarItem.is-active > .item')?.getBoundingClientRect()
	return row && row.top > 60 && row.bottom < innerHeight && row.height > 0
})()`

func TestTheMenuShowsWhereTheReaderIsOnAServerAndInAFolder(t *testing.T) {
	browser, address := start(t)
	for _, page := range []string{
		address + "/exercises/13-lease/", fromFolder("docs/benchmarks.html"), address + "/CONTRIBUTING", fromFolder("CONTRIBUTING.html"),
	} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(desktop), open(page), until(markInSight)), page)
		require.NoError(t, b.do(width(phone), chromedp.Reload(), until(ready), click(`.VPLocalNav .menu`),
			until(`document.querySelector('.VPSidebar.open')`), until(markInSight)), page)
		assert.Empty(t, b.wrong())
	}
}

func TestTheMenuFollowsTheReaderToTheNextPage(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/"), in(`document.querySelector('.vp-doc a[href*="12-first-replicaset/"]').click()`),
		until(`@path === '/chapters/12-first-replicaset/'`), until(ready), until(markInSight)))
	assert.Empty(t, b.wrong())
}

func TestTheMenuOpensOnAPhoneOnAServerAndInAFolder(t *testing.T) {
	browser, address := start(t)
	for _, page := range []string{address + "/chapters/01-list-watch/", fromFolder("chapters/01-list-watch/index.html")} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(phone), open(page), click(`.VPLocalNav .menu`), until(`document.querySelector('.VPSidebar.open')`)))
		require.NoError(t, b.do(in(`[...document.querySelectorAll('.VPSidebar a')].find(a => a.innerText.includes('The reflector')).click()`),
			until(`location.pathname.includes('/chapters/03-reflector/')`), until(ready)))
		assert.Empty(t, b.wrong())
	}
}

func TestTheBarLeadsToTheListsOnAServerAndInAFolder(t *testing.T) {
	browser, address := start(t)
	for _, page := range []string{address + "/", fromFolder("index.html")} {
		for _, c := range []struct{ name, to string }{
			{"Chapters", "#the-chapters"}, {"Playground", "/docs/playground"}, {"Glossary", "/docs/glossary"},
		} {
			b := newTab(t, browser)
			require.NoError(t, b.do(width(desktop), open(page), in(`[...document.querySelectorAll('.VPNavBarMenu a')].find(a => a.innerText.trim() === "`+c.name+`").click()`),
				until(`location.href.replace(/index\.html|\.html/, '').endsWith("`+c.to+`")`), until(ready)))
			assert.Empty(t, b.wrong())
		}
	}
}

// What a phone has no room for in the bar is behind its button.
func TestABookInAFolderHasItsBarOnAPhoneToo(t *testing.T) {
	browser, _ := start(t)
	for _, page := range []string{"index.html", "chapters/01-list-watch/index.html"} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(phone), inColors("light"), open(fromFolder(page)), click(`.VPNavBarHamburger`), until(`document.querySelector('.folder-screen')`)))
		require.NoError(t, keep(b, "folder-screen"))
		require.NoError(t, b.do(click(`.folder-screen .VPSwitchAppearance`), until(`document.documentElement.classList.contains('dark')`)))
		require.NoError(t, b.do(in(`[...document.querySelectorAll('.folder-screen a')].find(a => a.innerText === 'Chapters').click()`),
			until(`location.pathname.endsWith('/index.html') && location.hash === '#the-chapters'`), until(ready), until(`!document.querySelector('.folder-screen')`)))
		assert.Empty(t, b.wrong())
	}
}
