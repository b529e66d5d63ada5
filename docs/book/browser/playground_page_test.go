package browser

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ofCluster makes an expression about a page one about what's in the cluster's shadow.
var ofCluster = strings.NewReplacer("document.querySelectorAll('body *')", "document.querySelector('loop-cluster').shadowRoot.querySelectorAll('*')",
	"e = e.parentElement", "e = e.parentElement ?? e.getRootNode().host")

func TestThePlaygroundFitsAPhoneAndCanBeReadInBothLooks(t *testing.T) {
	open, _, address := startPlayground(t)
	for _, look := range []string{"light", "dark"} {
		for _, pixels := range []int64{desktop, phone} {
			b := open()
			require.NoError(t, b.do(width(pixels), inColors(look), chromedp.Navigate(address+"/index.html"), showsPods(3, "web:1"),
				in(inCluster(`c.cluster.send({ do: 'kubectl', line: 'scale deployment web --replicas=20' })`)), showsPods(20, "web:1"),
				in(inCluster(`s.querySelector('[data-try=break]').click()`)), until(inCluster(`s.querySelector('.ask')`))))
			wide, err := get[float64](b, `document.documentElement.scrollWidth`)
			require.NoError(t, err)
			assert.LessOrEqual(t, wide, float64(pixels), "it scrolls sideways")
			cut, err := get[[]string](b, inCluster(`[...s.querySelectorAll('.pod b, .pod span, .node button')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)`))
			require.NoError(t, err)
			assert.Empty(t, cut, "it's cut off at %d pixels", pixels)
			small, err := get[[]string](b, ofCluster.Replace(`[...document.querySelectorAll('body *')].filter(e => e.childElementCount === 0 && e.textContent.trim() && e.localName !== 'style' &&
				parseFloat(getComputedStyle(e).fontSize) < 11).map(e => e.textContent)`))
			require.NoError(t, err)
			assert.Empty(t, small)
			pale, err := get[[]string](b, ofCluster.Replace(tooPale))
			require.NoError(t, err)
			assert.Empty(t, pale, "in the "+look)
			nameless, err := get[[]string](b, inCluster(`[...s.querySelectorAll('button, input, section, article')].filter(e => !(e.ariaLabel || e.textContent.trim())).map(e => e.outerHTML)`))
			require.NoError(t, err)
			assert.Empty(t, nameless)
			require.NoError(t, keep(b, fmt.Sprintf("playground-%s-%d", look, pixels)))
			assert.Empty(t, b.wrong())
		}
	}
}

// On a phone, three nodes have no room for two buttons beside each other.
func TestTheButtonsOfANodeStayInItAtEveryWidth(t *testing.T) {
	open, _, address := startPlayground(t)
	b := open()
	require.NoError(t, b.do(width(desktop), chromedp.Navigate(address+"/index.html"), showsPods(3, "web:1"),
		in(inCluster(`c.cluster.send({ do: 'kubectl', line: 'cordon node-2' })`)), in(inCluster(`c.cluster.send({ do: 'act', name: 'kill node', args: ['node-2'] })`)),
		until(inCluster(`s.querySelectorAll('.node')[1].textContent.includes('UncordonPlug in')`))))
	for _, pixels := range []int64{320, phone, 390, 440, 480, 540, 600, 700, 820, 1000, desktop} {
		require.NoError(t, b.do(width(pixels), until(fmt.Sprintf("innerWidth === %d", pixels))))
		out, err := get[[]string](b, inCluster(`[...s.querySelectorAll('.node')].flatMap(n => [...n.querySelectorAll('button')].filter(e => {
			const inner = e.getBoundingClientRect(), outer = n.getBoundingClientRect()
			return inner.left < outer.left || inner.right > outer.right || inner.top < outer.top || inner.bottom > outer.bottom
		}).map(e => e.textContent))`))
		require.NoError(t, err)
		assert.Empty(t, out, "at %d pixels", pixels)
	}
	assert.Empty(t, b.wrong())
}

// Whoever has no mouse presses Tab and Enter. If the focus were lost with each answer, they'd begin again at the top of the page.
func TestATryNeedsNoMouse(t *testing.T) {
	open, _, address := startPlayground(t)
	b := open()
	tabTo := func(place string) step {
		return func(ctx context.Context, t *chromedp.Target) (none chromedp.Void, err error) {
			for range 60 {
				if none, err = chromedp.KeyEvent(kb.Tab)(ctx, t); err != nil {
					return none, err
				}
				if there, err := chromedp.Evaluate[bool](inCluster(`s.activeElement?.matches('`+place+`') ?? false`))(ctx, t); there || err != nil {
					return none, err
				}
			}
			return none, fmt.Errorf("Tab doesn't lead to %s", place)
		}
	}
	enter := chromedp.KeyEvent(kb.Enter)
	has := func(place string) step { return until(inCluster(`s.activeElement?.matches('` + place + `')`)) }
	require.NoError(t, b.do(width(desktop), chromedp.Navigate(address+"/index.html"), showsPods(3, "web:1"),
		tabTo(`[data-try="break"]`), enter, has(`.ask.asked`), tabTo(`.answers button:nth-child(2)`), enter, has(`.ask.running`), has(`.ask.over`),
		tabTo(`.ask .close`), enter, has(`[data-try="break"]`)), "with a question")
	// The second time nothing is asked. A Pod's button goes with the Pod.
	pod := `.pod:not(.trouble)`
	require.NoError(t, b.do(tabTo(`[data-try="rollback"]`), enter, has(`.ask.asked`), tabTo(`.answers button`), enter, has(`.ask.over`), tabTo(`.close`), enter, has(`[data-try="rollback"]`)))
	for range 2 {
		require.NoError(t, b.do(in(`document.activeElement.blur()`), tabTo(pod), enter, until(inCluster(`s.querySelector('.ask')`))))
		asks, err := get[bool](b, inCluster(`s.querySelector('.ask.asked') !== null`))
		require.NoError(t, err)
		if asks {
			require.NoError(t, b.do(tabTo(`.answers button`), enter))
		}
		require.NoError(t, b.do(has(`.ask.over`), tabTo(`.close`), enter, has(`.buttons button`)))
	}
	assert.Empty(t, b.wrong())
}

// A page about something else pays nothing until a reader wants a cluster, and keeps its picture where
// there can't be one.
func TestNothingIsLoadedBeforeAClickAndWhatFailsSaysSo(t *testing.T) {
	open, _, address := startPlayground(t)
	begin := in(inCluster(`s.querySelector('.begin').click()`))
	for base, want := range map[string]string{
		"/":         "",
		"/unpacked": "",
		"/cut":      "has arrived damaged",
		"/login":    "is something else than the program",
		"/nowhere":  "can't be loaded: 404",
	} {
		b := open()
		require.NoError(t, b.do(width(desktop), chromedp.Navigate(address+"/other.html?base="+base), until(inCluster(`s?.querySelector('.begin')`))))
		for _, asked := range b.asked() {
			require.NotContains(t, asked, "wasm", "nobody has asked for it yet")
		}
		b.wrong() // in a folder that isn't there, there's no style either
		if want == "" {
			require.NoError(t, b.do(begin, showsPods(3, "web:2")), "a small one shows a rollout by itself")
			assert.Empty(t, b.wrong())
			continue
		}
		require.NoError(t, b.do(begin, until(inCluster(`s.querySelector('.problem')`))))
		text, err := get[string](b, inCluster(`s.querySelector('.problem').textContent`))
		require.NoError(t, err)
		assert.Contains(t, text, want)
		still, err := get[bool](b, `document.querySelector('#still').checkVisibility()`)
		require.NoError(t, err)
		assert.True(t, still, "the picture stays")
	}
	b := open()
	require.NoError(t, b.do(chromedp.Navigate(address+"/other.html?base=/"), until(inCluster(`s?.querySelector('.begin')`)),
		in(`delete globalThis.WebAssembly`), begin, until(inCluster(`s.querySelector('.problem')?.textContent.includes('no WebAssembly')`))))
}

// On the start page, a cluster starts by itself, and the reader goes on to a chapter.
func TestAClusterEndsWithItsPageEvenIfItWasStillLoading(t *testing.T) {
	open, _, address := startPlayground(t)
	b := open()
	require.NoError(t, b.do(chromedp.Navigate(address+"/other.html?base=/"), until(inCluster(`s?.querySelector('.begin')`)), in(`{
		globalThis.ended = 0
		const terminate = Worker.prototype.terminate
		Worker.prototype.terminate = function () { globalThis.ended++; terminate.call(this) }
		const cluster = document.querySelector('loop-cluster')
		cluster.start()
		cluster.remove()
	}`), until(`globalThis.ended === 1`)))
	require.Empty(t, b.wrong())
}

// heap is how many bytes of the page's objects are in use.
func heap(ctx context.Context, t *chromedp.Target) (float64, error) {
	if _, err := cdp.Call(ctx, t, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		return 0, err
	}
	usage, err := cdp.Call(ctx, t, runtime.GetHeapUsage, cdp.Empty{})
	return usage.UsedSize, err
}

// Whoever clicks at random for twenty of the cluster's minutes (four with -short) loses no Pod, and the page
// remembers only so much.
func TestRandomClicksInThePageLoseNoPodAndLeakNoMemory(t *testing.T) {
	open, _, address := startPlayground(t)
	b := open()
	require.NoError(t, b.do(width(desktop), chromedp.Navigate(address+"/index.html"), showsPods(3, "web:1")))
	random := rand.New(rand.NewPCG(7, 1))
	passes := func(seconds int) step {
		return chromedp.Steps(
			in(inCluster(fmt.Sprintf(`(globalThis.then = c.cluster.clock.now + %d, c.cluster.clock.fast(%d))`, seconds*1000-1, seconds*1000))),
			until(inCluster(`c.cluster.clock.speed === 1 && c.cluster.clock.now >= globalThis.then`)))
	}
	clicks := 60
	if testing.Short() {
		clicks = 12
	}
	var heaps []float64
	for range 2 {
		for range clicks {
			click := fmt.Sprintf(`{
				const all = [...s.querySelectorAll('.buttons button, .acts button, .pod')]
				all[%d %% all.length].click()
				const answers = s.querySelectorAll('.ask .answers button')
				answers[%d %% answers.length]?.click()
				s.querySelector('.ask .close')?.click()
			}`, random.IntN(1000), random.IntN(1000))
			require.NoError(t, b.do(in(inCluster(click)), passes(10)))
		}
		used, err := chromedp.Run(b.ctx, chromedp.Action[float64](heap))
		require.NoError(t, err)
		heaps = append(heaps, used)
	}
	assert.Less(t, heaps[1], heaps[0]+20e6, "the page's memory halfway and at the end")

	// All that was broken is mended.
	require.NoError(t, b.do(in(inCluster(`(async () => {
		const act = (name, ...args) => c.cluster.send({ do: 'act', name, args }).catch(() => {})
		const type = (line) => c.cluster.send({ do: 'kubectl', line }).catch(() => {})
		await act('start process')
		for (const n of ['node-1', 'node-2', 'node-3']) { await act('revive node', n); await type('uncordon ' + n) }
		await act('disturb', 'release watch', 'pods')
		await type('create deployment web --image=web:1')
		await type('rollout resume deployment web')
		await type('set image deployment web *=web:9')
		await type('scale deployment web --replicas=6')
		globalThis.mended = true
	})()`)), passes(60), until(`globalThis.mended`), passes(600), passes(600), passes(600), showsPods(6, "web:9")))
	assert.Empty(t, b.wrong())
}
