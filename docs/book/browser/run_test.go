package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// story is a chapter's program, with the page that offers it.
type story struct{ name, page string }

// inRun is an expression about an open program: r is what a reader sees of it.
func inRun(name, expression string) string {
	return fmt.Sprintf(`((r) => %s)(document.querySelector('loop-run[program="%s"]').shadowRoot)`, expression, name)
}

// offered are the programs that the book's pages can run.
func offered(t *testing.T) (stories []story) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(theBook, "chapters", "*", "index.html"))
	require.NoError(t, err)
	for _, file := range pages {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`<loop-run program="([^"]*)" question="[^"]*">`).FindAllStringSubmatch(string(text), -1) {
			stories = append(stories, story{match[1], "chapters/" + filepath.Base(filepath.Dir(file)) + "/"})
		}
	}
	require.Len(t, stories, 2*len(pages)-5, "all but the five that need more than the page has")
	return stories
}

// few is what -short runs: a program without a cache, one with leases, and one of ten minutes.
var few = map[string]bool{"01-list-watch/naive": true, "06-queue/naive": true, "06-queue": true, "13-lease": true, "26-deployment": true}

// A reader compares what a program prints on the page with the text below it. The comparison is the one of the playground's
// own tests.
func TestChaptersProgramsPrintOnThePageWhatTheTextShows(t *testing.T) {
	browser, address := start(t)
	var mu sync.Mutex
	printed := map[string]string{} // guarded by mu
	stories := make(chan story)
	var workers sync.WaitGroup
	for range 2 {
		b := newTab(t, browser)
		workers.Go(func() {
			for p := range stories {
				text, err := b.runProgram(address+"/"+p.page, p.name)
				assert.NoError(t, err, "%s: %s", p.name, text)
				assert.Empty(t, b.wrong(), p.name)
				mu.Lock()
				printed[p.name] = text
				mu.Unlock()
			}
		})
	}
	for _, p := range offered(t) {
		if !testing.Short() || few[p.name] {
			stories <- p
		}
	}
	close(stories)
	workers.Wait()
	compare(t, printed)
}

// The book in a folder may fetch nothing, so a program comes there another way.
func TestAChaptersProgramRunsFromAFolder(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	text, err := b.runProgram(fromFolder("chapters/06-queue/index.html"), "06-queue/naive")
	require.NoError(t, err, text)
	require.Empty(t, b.wrong())
	require.Contains(t, text, "\n  # web wants three Pods and has 6.\n")
	require.NotContains(t, text, "The cluster stays up")
}

// runProgram does what a reader does, as fast as it goes, and returns what the program has printed.
func (b *tab) runProgram(address, name string) (printed string, err error) {
	if err := b.do(width(desktop), open(address), press(name), choose(name, "Fast"), in(inRun(name, `{
			r.querySelector('.run-question input').value = 'Six.'
			r.querySelector('.run-go').click()
		}`)), until(inRun(name, `/^It’s over/.test(r.querySelector('.run-said')?.textContent) || r.querySelector('[role=alert]')`))); err != nil {
		return "", err
	}
	if problem, err := get[string](b, inRun(name, `r.querySelector('[role=alert]')?.textContent ?? ''`)); err != nil || problem != "" {
		return "", fmt.Errorf("the page says: %s (%w)", problem, err)
	}
	if predicted, err := get[string](b, inRun(name, `r.querySelector('.run-predicted b').textContent`)); err != nil || predicted != "Six." {
		return "", fmt.Errorf("the reader's prediction is %q (%w)", predicted, err)
	}
	return get[string](b, inRun(name, `r.querySelector('.run-output pre').textContent`))
}

// before runs a statement in each page before its own scripts.
func before(statement string) step {
	return call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: statement})
}

// press presses the button below the question, and waits until the program has been loaded.
func press(name string) step {
	return chromedp.Steps(in(fmt.Sprintf(`document.querySelector('loop-run[program="%s"] .run-here').click()`, name)),
		until(fmt.Sprintf(`document.querySelector('loop-run[program="%s"]').shadowRoot?.querySelector('.run-time, .run-problem')`, name)))
}

// choose presses a button of an open program, by what is on it.
func choose(name, button string) step {
	return in(inRun(name, fmt.Sprintf(`[...r.querySelectorAll('button')].find(b => b.textContent === '%s').click()`, button)))
}

// compare holds what programs have printed to the outputs that the chapters show.
func compare(t *testing.T, printed map[string]string) {
	t.Helper()
	text, err := json.Marshal(printed)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "printed.json")
	require.NoError(t, os.WriteFile(file, text, 0o644))
	command := exec.Command("go", "test", "-count=1", "-run", "TestWhatWasPrintedInAPageIsWhatTheChaptersShow", "-v", "./playground/build")
	command.Dir, command.Env = filepath.Join("..", "..", ".."), append(os.Environ(), "PRINTED="+file)
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "--- PASS", "it has compared something")
}

// A reader on a phone has a program go slowly, stops it, holds its watch, goes on step by step, and ends it.
func TestAReaderOwnsTheTimeOfAProgramAndItsWatches(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	const (
		name    = "26-deployment/naive" // which has many steps
		seconds = `parseFloat(r.querySelector('.run-time output').textContent)`
	)
	shows := func(expression string) step { return until(inRun(name, expression)) }
	require.NoError(t, b.do(width(phone), open(address+"/chapters/26-deployment/"), press(name), choose(name, "Slow"),
		in(inRun(name, `r.querySelector('.run-go').click()`)),
		shows(`[...r.querySelectorAll('.run-disturb option')].map(o => o.textContent).join() === 'deployments,pods,replicasets'`),
		choose(name, "Pause"), shows(`r.querySelector('[aria-pressed=true]').textContent === 'Pause'`),
		choose(name, "Hold"), shows(`r.querySelector('.run-disturb').textContent.includes('Let it go on')`),
		choose(name, "Let it go on"), shows(`r.querySelector('.run-disturb').textContent.includes('Hold')`)))
	stopped, err := get[float64](b, inRun(name, seconds))
	require.NoError(t, err)
	step := fmt.Sprintf(`{ [...r.querySelectorAll('button')].find(b => b.textContent === 'Step').click(); return %s > %v }`, seconds, stopped)
	require.NoError(t, b.do(shows(step),
		shows(`r.querySelector('[aria-pressed=true]').textContent === 'Pause'`)))
	wide, err := get[[]float64](b, `[document.documentElement.scrollWidth, `+inRun(name, `r.querySelector('.picture').getBoundingClientRect().right`)+`]`)
	require.NoError(t, err)
	require.LessOrEqual(t, wide[0], float64(phone), "the page scrolls sideways")
	require.LessOrEqual(t, wide[1], float64(phone), "X-ray sticks out")
	require.NoError(t, b.do(choose(name, "Stop"), choose(name, "Run"), shows(`r.querySelector('.run-said').textContent === 'Stopped.'`),
		in(inRun(name, `r.querySelector('[aria-label=Close]').click()`)), press(name), shows(`r.querySelector('.run-question')`)))
	require.Empty(t, b.wrong())
}

// A chapter is for reading, and megabytes that nobody asked for would be on each of its pages.
func TestAPageLoadsNothingOfThePlaygroundBeforeSomebodyWantsIt(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), open(address+"/chapters/06-queue/"), until(`document.querySelectorAll('.run-here').length === 2`)))
	for _, asked := range b.asked() {
		require.NotContains(t, asked, "/playground/")
	}
	program, err := os.Stat(filepath.Join(theBook, "playground", "playground.wasm.gz"))
	require.NoError(t, err)
	said, err := get[string](b, `document.querySelector('.run-offer').textContent`)
	require.NoError(t, err)
	require.Contains(t, said, fmt.Sprintf(": %.1f MB, once.", float64(program.Size())/1e6))
	require.NoError(t, b.do(press("06-queue")))
	require.Contains(t, strings.Join(b.asked(), "\n"), "/playground/playground.wasm.gz")
	require.Empty(t, b.wrong())
}

// The text of a chapter is whole without scripts, and without WebAssembly.
func TestWithoutWebAssemblyAChapterIsTheText(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(width(desktop), before(`delete globalThis.WebAssembly`), open(address+"/chapters/06-queue/")))
	shown, err := get[[]string](b, `[...document.querySelectorAll('loop-run')].map(r => r.offsetHeight + r.textContent)`)
	require.NoError(t, err)
	require.Equal(t, []string{"0", "0"}, shown)
	require.NoError(t, b.do(open(address+"/")))
	require.NoError(t, b.do(until(`document.querySelector('loop-cluster img').src.endsWith('/docs/film.gif') && document.querySelector('loop-cluster img').offsetHeight > 100`)))
	alone, err := get[bool](b, `document.querySelector('loop-cluster').shadowRoot === null`)
	require.NoError(t, err)
	require.True(t, alone, "the start page has its film")
	require.Empty(t, b.wrong())
}

const (
	theCluster = `document.querySelector('loop-cluster').shadowRoot`
	rolledOut  = theCluster + `?.querySelectorAll('.pod.wanted').length === 3 && ` + theCluster + `.textContent.includes('3 of 3 ready')`
)

// Whoever passes by sees a rollout, without a click, and on no account before the text.
func TestTheStartPageRollsANewImageOut(t *testing.T) {
	browser, address := start(t)
	for page, image := range map[string]string{address + "/": "web:2", fromFolder("index.html"): "web:2", address + "/docs/playground": "web:1"} {
		b := newTab(t, browser)
		end := fmt.Sprintf(`%s && [...%s.querySelectorAll('.pod')].every(p => p.textContent.includes('%s'))`, rolledOut, theCluster, image)
		require.NoError(t, b.do(width(desktop), open(page), until(end)), "%s: %v", page, b.wrong())
		after, err := get[bool](b, `performance.getEntriesByType('resource').filter(r => r.name.includes('/playground/playground.')).every(r => r.startTime >= performance.getEntriesByType('navigation')[0].loadEventStart)`)
		require.NoError(t, err)
		require.True(t, after, page)
		asked := strings.Join(b.asked(), "\n")
		require.Contains(t, asked, "/docs/film.gif.png", "the picture that's there meanwhile")
		require.NotContains(t, asked+"\n", "/docs/film.gif\n", "the film is for readers who can't see the cluster")
		require.Empty(t, b.wrong(), page)
	}
}

// A few megabytes can be a day's worth of data.
func TestTheStartPageAsksFirstWhereDataCosts(t *testing.T) {
	browser, address := start(t)
	b := newTab(t, browser)
	const button = theCluster + `?.querySelector('.begin:not(:disabled)')`
	require.NoError(t, b.do(width(desktop), before(`Object.defineProperty(navigator, 'connection', { value: { saveData: true } })`), open(address+"/"), until(button)))
	require.NotContains(t, strings.Join(b.asked(), "\n"), ".wasm")
	require.NoError(t, b.do(in(theCluster+`.querySelector('.begin').click()`), until(rolledOut)))
	require.Empty(t, b.wrong())
}

// Pictures for people who look at the playground.
func TestPicturesOfThePlaygroundAreTaken(t *testing.T) {
	if os.Getenv("BOOK_SCREENSHOTS") == "" {
		t.Skip("BOOK_SCREENSHOTS names no directory")
	}
	browser, address := start(t)
	const name = "12-first-replicaset"
	for _, look := range []string{"light", "dark"} {
		for _, pixels := range []int64{desktop, phone} {
			b := newTab(t, browser)
			shot := func(what string) { require.NoError(t, keep(b, fmt.Sprintf("playground-%s-%s-%d", what, look, pixels))) }
			sight := in(`document.querySelector('loop-run[program="` + name + `"]').scrollIntoView({ block: 'start', behavior: 'instant' }); scrollBy({ top: -140, behavior: 'instant' })`)
			require.NoError(t, b.do(inColors(look), width(pixels), open(address+"/chapters/"+name+"/"), until(`document.querySelector('.run-here')`), sight))
			shot("offer")
			require.NoError(t, b.do(press(name), sight))
			shot("question")
			require.NoError(t, b.do(choose(name, "Fast"), in(inRun(name, `{ r.querySelector('.run-question input').value = 'Three.'; r.querySelector('.run-go').click() }`)),
				until(inRun(name, `/^It’s over/.test(r.querySelector('.run-said')?.textContent)`)), sight))
			shot("over")
			require.NoError(t, b.do(choose(name, "Larger")))
			shot("large")
			for what, page := range map[string]string{"front": "", "page": "docs/playground"} {
				require.NoError(t, b.do(open(address+"/"+page), until(rolledOut),
					in(`document.querySelector('loop-cluster').scrollIntoView({ block: 'start', behavior: 'instant' }); scrollBy({ top: -120, behavior: 'instant' })`)))
				shot(what)
			}
		}
	}
}
