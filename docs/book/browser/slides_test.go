package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The board of a deck.
var board = call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 1280, Height: 720, DeviceScaleFactor: 1})

// A deck is ready when reveal.js has its slides.
const deckReady = `window.Reveal && Reveal.isReady()`

// wrongInDeck opens each slide of a deck, and says what a class could not see or a teacher could not say.
const wrongInDeck = `(() => {
	const wrong = []
	for (const slide of Reveal.getSlides()) {
		const at = Reveal.getIndices(slide)
		Reveal.slide(at.h, at.v)
		const say = problem => wrong.push('slide ' + (at.h + 1) + '.' + (at.v + 1) + ', ' + slide.querySelector('h2').innerText + ', ' + problem)
		if (Reveal.getCurrentSlide() !== slide || !slide.clientHeight) say('does not open')
		if (!(Reveal.getSlideNotes(slide) || '').trim()) say('has no notes')
		const shown = [...slide.querySelectorAll('*')].filter(e => !e.closest('aside') && !e.parentElement.closest('svg'))
		const cut = shown.find(e => {
			const box = e.getBoundingClientRect()
			return box.left < 0 || box.top < 0 || box.right > 1280.5 || box.bottom > 720.5
		})
		if (cut) say('is larger than the board, because of ' + cut.outerHTML.slice(0, 80) + ': ' + JSON.stringify(cut.getBoundingClientRect()))
		for (const code of slide.querySelectorAll('pre'))
			if (code.scrollWidth > code.clientWidth || code.scrollHeight > code.clientHeight) say('has code that is cut off')
		for (const image of slide.querySelectorAll('img')) if (!image.naturalWidth) say('has no picture ' + image.src)
		for (const diagram of slide.querySelectorAll('.diagram'))
			if (!diagram.querySelector('.diagram-picture svg')) say('has a diagram that is not drawn')
	}
	return wrong
})()`

// decks are all chapters' slides, opened from the folder.
func decks(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(theBook, "chapters", "*", "slides.html"))
	require.NoError(t, err)
	chapters, err := filepath.Glob(filepath.Join("..", "..", "..", "chapters", "[0-9]*"))
	require.NoError(t, err)
	require.Len(t, found, len(chapters), "each chapter has a deck")
	return found
}

// What is cut off on a projector is lost for the whole class.
func TestEverySlideFitsTheBoardAndHasNotes(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	for _, deck := range decks(t) {
		name := filepath.Base(filepath.Dir(deck))
		require.NoError(t, b.do(board, chromedp.Navigate("file://"+filepath.ToSlash(deck)), until(deckReady)), name)
		wrong, err := get[[]string](b, wrongInDeck)
		require.NoError(t, err, name)
		for _, problem := range append(wrong, b.wrong()...) {
			t.Errorf("%s: %s", name, problem)
		}
		if os.Getenv("BOOK_SCREENSHOTS") != "" {
			keepSlides(t, b, name)
		}
	}
	for _, address := range b.asked() {
		assert.True(t, strings.HasPrefix(address, fromFolder("")), "a deck has asked for %s, which is not in its folder", address)
	}
}

// unreadable lists the words of a deck whose color is too near to that of what is behind them: a projector takes contrast away.
const unreadable = `(() => {
	const numbers = color => (color.match(/[\d.]+/g) || []).map(Number)
	const light = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0)
	const behind = e => {
		for (; e; e = e.parentElement) {
			const color = numbers(getComputedStyle(e).backgroundColor)
			if (color.length === 3 || color[3] === 1) return color
		}
		return [255, 255, 255]
	}
	const wrong = new Set()
	for (const slide of Reveal.getSlides()) {
		const at = Reveal.getIndices(slide)
		Reveal.slide(at.h, at.v, 99)
		for (const e of slide.querySelectorAll('*')) {
			if (e.closest('aside, svg') || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue
			const [a, b] = [light(numbers(getComputedStyle(e).color)), light(behind(e))].sort((a, b) => b - a)
			if ((a + .05) / (b + .05) < 4.5) wrong.add(e.tagName + '.' + e.className + ' ' + ((a + .05) / (b + .05)).toFixed(1) + ': ' + e.innerText.slice(0, 30))
		}
	}
	return [...wrong].slice(0, 5)
})()`

func TestSlidesCanBeReadInLightAndInDark(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	for _, look := range []string{"light", "dark"} {
		require.NoError(t, b.do(board, inColors(look), chromedp.Navigate(fromFolder("chapters/06-queue/slides.html")), until(deckReady)))
		dark, err := get[bool](b, `getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)'`)
		require.NoError(t, err)
		assert.Equal(t, look == "dark", dark, "the deck is as the system is")
		wrong, err := get[[]string](b, unreadable)
		require.NoError(t, err)
		assert.Empty(t, wrong, look)
		if os.Getenv("BOOK_SCREENSHOTS") != "" {
			keepSlides(t, b, "06-queue-"+look)
		}
	}
	assert.Empty(t, b.wrong())
}

const toPoll = `(at => Reveal.slide(at.h, at.v))(Reveal.getIndices(document.querySelector('section.poll')))`

// A class that sees the right answer first does not think about the question.
func TestAPollShowsWhichAnswerIsRightInASecondStep(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(board, chromedp.Navigate(fromFolder("chapters/06-queue/slides.html")), until(deckReady), in(toPoll)))
	const looks = `[...document.querySelectorAll('section.poll li')].map(li => {
		const why = li.querySelector('.why')
		return (getComputedStyle(why).visibility === 'visible' ? why.innerText[0] : '') + getComputedStyle(li).borderTopColor
	})`
	before, err := get[[]string](b, looks)
	require.NoError(t, err)
	require.Len(t, before, 4)
	for _, answer := range before {
		assert.Equal(t, before[0], answer, "the answers look alike")
	}
	require.NoError(t, b.do(chromedp.KeyEvent(kb.ArrowRight)))
	after, err := get[[]string](b, looks)
	require.NoError(t, err)
	gray := before[0]
	assert.Equal(t, []string{"✗" + gray, "✗" + gray, "✗" + gray}, after[:3], "the wrong answers say why")
	assert.Regexp(t, "^✓rgb", after[3], "the last answer of chapter 6 is right")
	assert.NotContains(t, after[3], gray, "and has a color of its own")
	assert.Empty(t, b.wrong())
}

func TestTheSpeakersViewShowsTheNotesOfTheSlide(t *testing.T) {
	browser, address := start(t)
	for _, deck := range []string{fromFolder("chapters/06-queue/slides.html"), address + "/chapters/06-queue/slides.html"} {
		b := newTab(t, browser)
		require.NoError(t, b.do(board, chromedp.Navigate(deck), until(deckReady), in(toPoll),
			in(`(open => window.open = (...to) => window.speaker = open(...to))(window.open.bind(window))`), chromedp.KeyEvent("s"),
			until(`window.speaker?.document.querySelector('.speaker-controls-notes .value')?.innerText.includes('how many Pods does web have')`)), deck)
		assert.Empty(t, b.wrong())
	}
}

func TestAChapterLeadsToItsSlidesAndTheyLeadBackAndOn(t *testing.T) {
	browser, address := start(t)
	for _, chapter := range []string{address + "/chapters/06-queue/", fromFolder("chapters/06-queue/index.html")} {
		b := newTab(t, browser)
		const last = `Reveal.slide(Reveal.getHorizontalSlides().length - 1)`
		require.NoError(t, b.do(board, open(chapter), click(`.facts a[href="slides.html"]`), until(`location.pathname.endsWith('/chapters/06-queue/slides.html')`), until(deckReady),
			in(last), click(`section.end a[href*="07-delay"]`), until(`location.pathname.endsWith('/chapters/07-delay/slides.html')`), until(deckReady),
			in(last), click(`section.end a[href^="index.html"]`), until(`location.pathname.includes('/chapters/07-delay/') && document.querySelector('h1')?.innerText.includes('Delay and back-off')`)), chapter)
		assert.Empty(t, b.wrong())
	}
}

// keepSlides takes a picture of each slide, with the answers of its poll.
func keepSlides(t *testing.T, b *tab, deck string) {
	t.Helper()
	slides, err := get[int](b, `Reveal.getSlides().length`)
	require.NoError(t, err)
	for i := range slides {
		require.NoError(t, b.do(in(fmt.Sprintf(`(at => Reveal.slide(at.h, at.v, 99))(Reveal.getIndices(Reveal.getSlides()[%d]))`, i))))
		require.NoError(t, keep(b, fmt.Sprintf("slides-%s-%02d", deck, i+1)))
	}
}
