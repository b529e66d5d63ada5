package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCodeOf100ColumnsFitsASmallDesk(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/chapters/06-queue/")))
	columns, err := get[float64](b, `(() => {
		const code = document.querySelector('.vp-doc div.language-go pre code'), room = code.parentElement.clientWidth - 2 * parseFloat(getComputedStyle(code).paddingLeft)
		const line = code.appendChild(document.createElement('span'))
		line.textContent = 'x'.repeat(100)
		return 100 * room / line.getBoundingClientRect().width
	})()`)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, columns, 100.0)
}

func TestTheBarAboveCodeLeadsToItsLinesInTheFileAndTheyLeadBack(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/chapters/01-list-watch/"), click(`.vp-doc .code-bar a`), until(`@path.startsWith('/source/')`), until(ready)))
	marked, err := get[string](b, `(() => {
		const mark = document.querySelector(':target'), box = mark.getBoundingClientRect()
		if (getComputedStyle(mark).backgroundColor === 'rgba(0, 0, 0, 0)') return 'no color'
		return [...document.querySelectorAll('pre > span')].filter(line => {
			const own = line.getBoundingClientRect(), middle = (own.top + own.bottom) / 2
			return middle > box.top && middle < box.bottom
		}).map(line => line.id).join()
	})()`)
	require.NoError(t, err)
	code, err := get[string](b, `location.hash`)
	require.NoError(t, err)
	var first, last int
	_, err = fmt.Sscanf(code, "#L%d-L%d", &first, &last)
	require.NoError(t, err, code)
	var want []string
	for line := first; line <= last; line++ {
		want = append(want, fmt.Sprintf("L%d", line))
	}
	assert.Equal(t, strings.Join(want, ","), marked, "the lines that have a color")
	require.NoError(t, keep(b, "quoted"))
	require.NoError(t, b.do(click(`:has(> :target) .quoted a`), until(`@path.startsWith('/chapters/01-list-watch/')`), until(ready)))
	back, err := get[string](b, `document.getElementById(location.hash.slice(1)).innerText`)
	require.NoError(t, err)
	assert.Contains(t, back, "follow lists the fruit")
	assert.Empty(t, b.wrong())
}

// A table that is too wide scrolls in its own box; those of paths need not even do that.
func TestTheTablesOfPathsFitAPhone(t *testing.T) {
	browser, address := start(t)
	for _, page := range []string{"/docs/generated/originals", "/mini/"} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(phone), open(address+page)))
		wide, err := get[[]string](b, `[...document.querySelectorAll('.vp-doc table')].filter(t => t.scrollWidth > t.clientWidth + 1).map(t => t.innerText.slice(0, 80))`)
		require.NoError(t, err)
		assert.Empty(t, wide, page)
	}
}

func TestTheFirstColumnOfAWideTableStaysInSightOnAPhone(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(phone), open(address+"/docs/benchmarks"), in(`document.querySelector('table.wide').scrollLeft = 1e6`)))
	cell, err := get[[]float64](b, `(() => {
		const table = document.querySelector('table.wide'), cell = table.querySelector('tbody td').getBoundingClientRect()
		return [table.scrollLeft, cell.left - table.getBoundingClientRect().left, cell.right]
	})()`)
	require.NoError(t, err)
	assert.Positive(t, cell[0], "the table has a box to scroll in")
	assert.InDelta(t, 0, cell[1], 2, "it did not scroll away")
	assert.Less(t, cell[2], 0.6*phone, "the other columns have room")
}

func TestTheStartPageOfAPhoneHasOneLeftEdge(t *testing.T) {
	browser, address := start(t)
	for _, page := range []string{address + "/", fromFolder("index.html")} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(phone), open(page)))
		edges, err := get[[]float64](b, `[...document.querySelectorAll('.VPHero :is(.name, .text, .tagline, .VPButton.brand), .vp-doc .text > :is(h2, p)')].map(e => Math.round(e.getBoundingClientRect().left))`)
		require.NoError(t, err)
		require.Greater(t, len(edges), 6)
		for _, edge := range edges {
			assert.Equal(t, edges[0], edge, "%v", edges)
		}
	}
}

// Whoever is sent a link sees a card, whose addresses have to be whole.
func TestACardLeadsToThePublishedBook(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(open(address+"/docs/architecture")))
	for property, want := range map[string]string{"url": `^https://[^/]+/\w+/docs/architecture$`, "image": `^https://[^/]+/\w+/book/card\.png$`} {
		said, err := get[string](b, `document.querySelector('meta[property="og:`+property+`"]').content`)
		require.NoError(t, err)
		require.Regexp(t, want, said)
	}
}
