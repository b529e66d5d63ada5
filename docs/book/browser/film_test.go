package browser

import (
	"bytes"
	"context"
	"fmt"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/docs/book/internal/film"
)

// theFilm is what readers of README see first. `make film` records it.
var theFilm = filepath.Join("..", "..", "film.gif")

// mostBytes is what a page that's read on a phone may cost.
const mostBytes = 3_000_000

// scene is a part of the film: it waits, leaves time to read, and presses a button.
type scene struct {
	until  string        // a condition in the page
	stays  time.Duration // what a reader needs to read it
	button string        // what's pressed at the end, if anything
}

// pressed are scenes about a button of the cluster: its question, the right answer, and what comes of it.
func pressed(try string, right int, over, reads time.Duration) []scene {
	const ask = theCluster + `.querySelector('.ask`
	return []scene{
		{until: rolledOut + ` || ` + ask + `.over')`, stays: over, button: theCluster + `.querySelector('[data-try="` + try + `"]')`},
		{until: ask + `.asked')`, stays: reads, button: fmt.Sprintf(theCluster+`.querySelectorAll('.ask .answers button')[%d]`, right)},
		{until: ask + `.over') && ` + theCluster + `.querySelector('[aria-label="` + label[try] + `"]')`},
	}
}

var label = map[string]string{"break": "Break it", "rollback": "Roll back"}

// theScenes are a rollout that goes wrong, and is rolled back.
func theScenes() []scene {
	scenes := append(pressed("break", 1, time.Second, 2500*time.Millisecond), pressed("rollback", 1, 3500*time.Millisecond, 2*time.Second)...)
	return append(scenes, scene{until: rolledOut, stays: 3 * time.Second})
}

// A film that can't be made any more shows readers something that the page no longer is.
func TestTheFilmCanBeMade(t *testing.T) {
	browser, address := start(t)
	if to := os.Getenv("FILM"); to != "" {
		made := record(t, newTab(t, browser), address, theScenes())
		require.Less(t, len(made), mostBytes)
		require.NoError(t, os.WriteFile(to, made, 0o644))
		return
	}
	scenes := theScenes()[:3] // up to the Pods that crash
	for i := range scenes {
		scenes[i].stays = 0
	}
	made, err := gif.DecodeAll(bytes.NewReader(record(t, newTab(t, browser), address, scenes)))
	require.NoError(t, err)
	require.Greater(t, len(made.Image), 5)
}

func TestTheFilmOfTheREADMEIsSmallAndShort(t *testing.T) {
	file, err := os.ReadFile(theFilm)
	require.NoError(t, err)
	require.Less(t, len(file), mostBytes)
	made, err := gif.DecodeAll(bytes.NewReader(file))
	require.NoError(t, err)
	hundredths := 0
	for _, delay := range made.Delay {
		hundredths += delay
	}
	require.GreaterOrEqual(t, hundredths, 1500)
	require.LessOrEqual(t, hundredths, 2500)
}

// stage hides all but the cluster, and has an arrow that goes to what is pressed.
const stage = `
	document.head.append(Object.assign(document.createElement('style'), { textContent: 'body * { visibility: hidden } loop-cluster, .film { visibility: visible }' +
		'.film { position: fixed; left: 0; top: 0; z-index: 1000; width: 26px; transition: translate .5s ease-in-out, scale .15s; filter: drop-shadow(0 1px 2px #0006) }' }))
	document.body.insertAdjacentHTML('beforeend', '<svg class="film" viewBox="0 0 20 24"><path d="M2 1v18l4.6-4 3.2 7.4 3.6-1.6-3.2-7.2H17z" fill="#111" stroke="#fff" stroke-width="1.5"/></svg>')
	window.film = document.querySelector('svg.film')
	film.style.translate = '640px 420px'`

const (
	pointAt = `((r) => { film.style.translate = (r.left + r.width / 2) + 'px ' + (r.top + r.height / 2) + 'px' })(%s.getBoundingClientRect())`
	points  = 800 * time.Millisecond // how long the arrow needs, with a moment to see where it is
)

// record plays scenes on the playground's own page, and returns the film.
func record(t *testing.T, b *tab, address string, scenes []scene) []byte {
	t.Helper()
	moving := emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "no-preference"}
	light := emulation.MediaFeature{Name: "prefers-color-scheme", Value: "light"}
	require.NoError(t, b.do(
		call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 1140, Height: 700, DeviceScaleFactor: 1}),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{&moving, &light}}),
		open(address+"/docs/playground"), until(theCluster+`?.querySelector('.stage')`), in(stage),
		in(`document.querySelector('loop-cluster').scrollIntoView({ block: 'start', behavior: 'instant' }); scrollBy({ top: -12, behavior: 'instant' })`)))
	r := recorder{b: b}
	for _, s := range scenes {
		r.play(t, s)
	}
	var out bytes.Buffer
	require.NoError(t, film.Encode(&out, r.frames))
	require.Empty(t, b.wrong())
	return out.Bytes()
}

// recorder takes a picture as often as it can, and notes how long each was seen.
type recorder struct {
	b      *tab
	frames []film.Frame
	taken  time.Time // the last one
}

func (r *recorder) play(t *testing.T, s scene) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for held := false; !held; {
		if time.Now().After(deadline) {
			there, _ := get[string](r.b, theCluster+`.querySelector('.ask')?.outerHTML ?? 'nothing is asked'`)
			require.Fail(t, "in vain", "waiting until %s: %s", s.until, there)
		}
		r.shoot(t)
		var err error
		held, err = get[bool](r.b, "Boolean("+s.until+")")
		require.NoError(t, err, strconv.Quote(s.until))
	}
	r.shootFor(t, s.stays)
	if s.button == "" {
		return
	}
	require.NoError(t, r.b.do(in(fmt.Sprintf(pointAt, s.button))))
	r.shootFor(t, points)
	require.NoError(t, r.b.do(in(`film.style.scale = '.75'; setTimeout(() => { film.style.scale = '1' }, 200); `+s.button+`.click()`)))
}

func (r *recorder) shootFor(t *testing.T, long time.Duration) {
	t.Helper()
	for until := time.Now().Add(long); time.Now().Before(until); {
		r.shoot(t)
	}
}

func (r *recorder) shoot(t *testing.T) {
	t.Helper()
	now := time.Now()
	ctx, stop := context.WithTimeout(r.b.ctx, patience)
	defer stop()
	file, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(file))
	require.NoError(t, err)
	if n := len(r.frames); n > 0 {
		r.frames[n-1].Lasts = now.Sub(r.taken)
	}
	r.taken = now
	r.frames = append(r.frames, film.Frame{Picture: picture, Lasts: 100 * time.Millisecond})
}
