package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/docs/book/figures/build"
)

// inFigure is an expression about the figure of a page: f is what a reader sees of it.
func inFigure(name, expression string) string {
	return fmt.Sprintf(`((f) => %s)(document.querySelector('loop-figure[name=%s]').shadowRoot)`, expression, name)
}

const (
	isOpen = `!f.querySelector('.picture').hidden && f.activeElement === f.querySelector('.picture')`
	said   = `f.querySelector('[aria-live=polite]').textContent`
	shown  = `f.querySelector('.picture').innerHTML + ` + said
)

// pageOf is the page that has a figure, without its ending.
func pageOf(t *testing.T, name string) string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	text, err := build.Text(root, name)
	require.NoError(t, err)
	page, err := filepath.Rel(root, strings.TrimSuffix(text, ".md"))
	require.NoError(t, err)
	return filepath.ToSlash(page)
}

func figureNames() (names []string) {
	for _, m := range build.Modules {
		names = append(names, m.Figures...)
	}
	return names
}

// Figures work on a server. From a folder, where all figures of a module are loaded in the same way, the first one of each is
// enough.
func TestFiguresAreUsedByKeyboardOnAServerAndInAFolder(t *testing.T) {
	browser, address := start(t)
	for _, m := range build.Modules {
		for i, name := range m.Figures {
			page := pageOf(t, name)
			b := newTab(t, browser)
			useByKeyboard(t, b, address+"/"+page, name)
			staysInSight(t, b, name)
			fitsAPhone(t, b, name)
			linesStayLines(t, b, name)
			if i == 0 {
				useByKeyboard(t, newTab(t, browser), fromFolder(page+".html"), name)
			}
		}
	}
}

// A reader without a mouse opens a figure, uses its first control that can do something new, and takes that back by an
// arrow key.
func useByKeyboard(t *testing.T, b *tab, page, name string) {
	t.Helper()
	before, err := openFigure(b, page, name)
	require.NoError(t, err, "%s: %v", page, b.wrong())
	keys, err := get[bool](b, inFigure(name, `f.querySelector('.picture').ariaLabel.includes('step forward') === Boolean(f.querySelector('[aria-keyshortcuts=ArrowRight]'))`))
	require.NoError(t, err)
	assert.True(t, keys, "%s: the keys that it names are those that work", name)
	for off := true; off; {
		require.NoError(t, b.do(chromedp.KeyEvent(kb.Tab)))
		outline, err := get[string](b, inFigure(name, `getComputedStyle(f.activeElement).outlineStyle`))
		require.NoError(t, err)
		require.Equal(t, "solid", outline, "%s: what has the focus can be seen", name)
		off, err = get[bool](b, inFigure(name, `f.activeElement.matches('[data-off], [data-key=back], [data-key=restart]')`))
		require.NoError(t, err)
	}
	kind, err := get[string](b, inFigure(name, `f.activeElement.tagName + ' ' + f.activeElement.type`))
	require.NoError(t, err)
	key := kb.ArrowDown
	switch kind {
	case "BUTTON button":
		key = kb.Enter
	case "INPUT range":
		key = kb.ArrowRight
	}
	require.NoError(t, b.do(chromedp.KeyEvent(key)))
	after, err := get[string](b, inFigure(name, shown))
	require.NoError(t, err)
	assert.NotEqual(t, before, after, "%s: %s did nothing", name, kind)
	require.NoError(t, b.do(in(inFigure(name, `f.querySelector('.picture').focus()`)), chromedp.KeyEvent(kb.ArrowLeft)))
	again, err := get[string](b, inFigure(name, shown))
	require.NoError(t, err)
	assert.Equal(t, before, again, "%s: the left arrow takes it back", name)
	assert.Empty(t, b.wrong(), page)
}

// Whoever steps looks at the picture. So Back must be in sight wherever the picture begins in the window, or a reader
// scrolls at each step.
func staysInSight(t *testing.T, b *tab, name string) {
	t.Helper()
	for _, size := range [][2]int64{{1280, 720}, {phone, 667}} {
		require.NoError(t, b.do(call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: size[0], Height: size[1], DeviceScaleFactor: 1}),
			until(inFigure(name, `f.querySelector('svg').viewBox.baseVal.width === `+map[bool]string{true: "360", false: "640"}[size[0] == phone]))))
		for _, top := range []int{70, 300} { // 70: below the page's own bar
			back, err := get[[]float64](b, inFigure(name, fmt.Sprintf(`{
				scrollBy({ top: f.querySelector('.picture').getBoundingClientRect().top - %d, behavior: 'instant' })
				const back = f.querySelector('[data-key=back]').getBoundingClientRect()
				return [back.top, back.bottom]
			}`, top)))
			require.NoError(t, err)
			assert.Greater(t, back[0], float64(top), "%s at %v", name, size)
			assert.LessOrEqual(t, back[1], float64(size[1]), "%s at %v, where the picture begins at %d", name, size, top)
		}
	}
}

// openFigure opens a figure as a reader does who has reached its button by Tab. It returns what is
// shown.
func openFigure(b *tab, page, name string) (string, error) {
	err := b.do(width(desktop), open(page), until(inFigure(name, `f.querySelector('.try')`)),
		in(inFigure(name, `f.querySelector('.try').focus()`)), chromedp.KeyEvent(kb.Enter),
		until(inFigure(name, isOpen+` || !f.querySelector('.problem').hidden`)))
	if err != nil {
		return "", err
	}
	if problem, err := get[string](b, inFigure(name, `f.querySelector('.problem').textContent`)); err != nil || problem != "" {
		return "", fmt.Errorf("%s says: %s (%w)", name, problem, err)
	}
	return get[string](b, inFigure(name, shown))
}

// Each button of an open figure is pressed once at the width of a phone. Nothing may stick out, each press is answered, and a
// finger hits what it aims at.
func fitsAPhone(t *testing.T, b *tab, name string) {
	t.Helper()
	require.NoError(t, b.do(width(phone), until(inFigure(name, `f.querySelector('svg').viewBox.baseVal.width === 360`))))
	wrong, err := get[[]string](b, inFigure(name, `{
			const wrong = []
			for (const key of [...f.querySelectorAll('.controls button')].map(b => b.dataset.key)) {
				const button = f.querySelector('.controls button[data-key="' + key + '"]')
				if (!button) continue
				button.focus()
				button.click()
				if (!`+said+`) wrong.push(key + ' says nothing')
				if (!f.activeElement) wrong.push('the focus is lost after ' + key)
			}
			for (const e of f.querySelectorAll('button, select, label')) {
				const height = e.getBoundingClientRect().height
				if (height > 0 && height < 40) wrong.push(e.outerHTML.slice(0, 80) + ' is ' + height + ' pixels high')
			}
			for (const e of f.querySelectorAll('.frame *')) {
				if (!e.closest('svg') && e.getBoundingClientRect().right > 376) wrong.push(e.outerHTML.slice(0, 80) + ' sticks out')
			}
			if (document.documentElement.scrollWidth > 375) wrong.push('the page scrolls sideways')
			return wrong
		}`))
	require.NoError(t, err)
	assert.Empty(t, wrong, name)
	assert.Empty(t, b.wrong(), name)
}

// The rules of a dark page are in a block of their own, and must not win against what they do not mean to change.
func linesStayLines(t *testing.T, b *tab, name string) {
	t.Helper()
	require.NoError(t, b.do(in(`document.documentElement.classList.add('dark')`)))
	filled, err := get[int](b, inFigure(name, `[...f.querySelectorAll('svg .line')].filter(l => getComputedStyle(l).fill !== 'none').length`))
	require.NoError(t, err)
	assert.Zero(t, filled, "%s: lines are filled if the page is dark", name)
}

// Where a module cannot be loaded, the reader is told so and keeps the picture.
func TestAFigureThatCannotBeLoadedSaysSo(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/"+pageOf(t, "queue")), in(`delete globalThis.WebAssembly`),
		in(inFigure("queue", `f.querySelector('.try').click()`)), until(inFigure("queue", `!f.querySelector('.problem').hidden`))))
	text, err := get[string](b, inFigure("queue", `f.querySelector('.problem').textContent`))
	require.NoError(t, err)
	assert.Contains(t, text, "no WebAssembly")
	there, err := get[bool](b, `document.querySelector('loop-figure[name=queue] img').getBoundingClientRect().height > 100`)
	require.NoError(t, err)
	assert.True(t, there, "the picture stays")
}

// A picture is a file of its own, and its colors are the system's, unless the page says what it is.
func TestAPictureIsAsDarkAsItsPageWhateverTheSystemPrefers(t *testing.T) {
	browser, address := start(t)
	for _, system := range []string{"light", "dark"} {
		b := newTab(t, browser)
		require.NoError(t, b.do(width(desktop), inColors(system), open(address+"/"+pageOf(t, "queue"))))
		for _, dark := range []bool{true, false} {
			require.NoError(t, b.do(in(fmt.Sprintf(`document.documentElement.classList.toggle('dark', %t)`, dark)),
				in(`document.querySelector('loop-figure img').scrollIntoView({ block: 'center', behavior: 'instant' })`)))
			edge, err := get[[]float64](b, `(r => [r.left + 4, r.top + r.height / 2])(document.querySelector('loop-figure img').getBoundingClientRect())`)
			require.NoError(t, err)
			gray := color.GrayModel.Convert(screenshot(t, b).At(int(edge[0]), int(edge[1]))).(color.Gray).Y
			assert.Equal(t, dark, gray < 128, "the system is %s, and the page is dark: %t", system, dark)
		}
	}
}

func screenshot(t *testing.T, b *tab) image.Image {
	t.Helper()
	file, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(file))
	require.NoError(t, err)
	return picture
}

// Pictures for people who look at the figures.
func TestPicturesOfFiguresAreTaken(t *testing.T) {
	if os.Getenv("BOOK_SCREENSHOTS") == "" {
		t.Skip("BOOK_SCREENSHOTS names no directory")
	}
	browser, address := start(t)
	for _, name := range figureNames() {
		for _, look := range []string{"light", "dark"} {
			for _, pixels := range []int64{desktop, phone} {
				b := newTab(t, browser)
				require.NoError(t, b.do(inColors(look)))
				_, err := openFigure(b, address+"/"+pageOf(t, name), name)
				require.NoError(t, err)
				require.NoError(t, b.do(width(pixels), in(fmt.Sprintf(`document.querySelector('loop-figure[name=%s]').scrollIntoView()`, name))))
				require.NoError(t, keep(b, fmt.Sprintf("figure-%s-%s-%d", name, look, pixels)))
			}
		}
	}
}
