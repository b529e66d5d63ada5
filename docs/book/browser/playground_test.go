package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// builtPlayground is where the book's build has made it. It's made once more if that was another day, and
// PLAYGROUND names one that's built already, for those who work on a test.
var builtPlayground = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("PLAYGROUND"); dir != "" {
		return dir, nil
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".loopwright", "playground")
	if os.Getenv("BOOK") == "" {
		return dir, nil
	}
	build := exec.Command("go", "run", "./playground/build", "-o", dir)
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the playground: %w\n%s", err, text)
	}
	return dir, nil
})

// startPlayground returns a browser, the folder of the playground, and where it's served.
func startPlayground(t *testing.T) (open func() *tab, dir, address string) {
	t.Helper()
	browser, _ := start(t)
	dir, err := builtPlayground()
	require.NoError(t, err)
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/other.html": // a page about something else, and whose program is in another folder
			_, _ = w.Write([]byte(`<!doctype html><title>Other</title><link rel="icon" href="data:,"><h1>Other</h1><script src="/playground.js"></script>
				<loop-cluster small data-base="` + r.URL.Query().Get("base") + `"><p id="still">a picture</p></loop-cluster>`))
		case strings.HasPrefix(r.URL.Path, "/unpacked/"): // as a server does that says how a file is packed
			w.Header().Set("Content-Encoding", "gzip")
			http.StripPrefix("/unpacked", files).ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/cut/"):
			text, _ := os.ReadFile(filepath.Join(dir, "playground.wasm.gz"))
			_, _ = w.Write(text[:len(text)/2])
		case strings.HasPrefix(r.URL.Path, "/login/"):
			_, _ = w.Write([]byte("<!doctype html>Log in first"))
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return func() *tab { return newTab(t, browser) }, dir, server.URL
}

// inCluster is an expression about the cluster of a page: c is the element, and s what's in it.
func inCluster(expression string) string {
	return fmt.Sprintf(`((c, s) => %s)(document.querySelector('loop-cluster'), document.querySelector('loop-cluster').shadowRoot)`, expression)
}

func showsPods(n int, image string) step {
	return until(inCluster(fmt.Sprintf(`s.querySelectorAll('.pod').length === %d && s.querySelectorAll('.pod.wanted').length === %d &&
		[...s.querySelectorAll('.pod b')].every(b => b.textContent === %q)`, n, n, image)))
}

// tries presses a button, answers its question, and waits for the end.
func tries(id string) step {
	return chromedp.Steps(
		until(inCluster(fmt.Sprintf(`s.querySelector('[data-try="%s"]')?.ariaDisabled === 'false'`, id))),
		in(inCluster(fmt.Sprintf(`s.querySelector('[data-try="%s"]').click()`, id))), ends())
}

func ends() step {
	return chromedp.Steps(
		until(inCluster(`s.querySelector('.ask .answers button')`)), in(inCluster(`s.querySelector('.ask .answers button').click()`)),
		// Whoever has no patience presses Faster, which is there after five of the cluster's seconds.
		until(inCluster(`(s.querySelector('.ask .runs button')?.click(), s.querySelector('.ask.over, .ask.refused'))`)))
}

func saidAfterwards(t *testing.T, b *tab) string {
	t.Helper()
	text, err := get[string](b, inCluster(`s.querySelector('.ask').innerText`))
	require.NoError(t, err)
	return text
}

// What a stranger does in the first minute, on a server and in a folder.
func TestARolloutInThePageEndsWithThePodsItShould(t *testing.T) {
	open, dir, address := startPlayground(t)
	for _, page := range []string{address + "/index.html", "file://" + filepath.ToSlash(dir) + "/index.html"} {
		b := open()
		require.NoError(t, b.do(width(desktop), chromedp.Navigate(page), showsPods(3, "web:1")), "%v", b.wrong())
		require.NoError(t, b.do(tries("set image"), showsPods(3, "web:2")))
		require.Contains(t, saidAfterwards(t, b), "3 Pods with web:2")
		require.NoError(t, keep(b, "playground"))
		require.NoError(t, b.do(tries("break")))
		require.Contains(t, saidAfterwards(t, b), "3 of 3 still work, and 1 Pod of web:bad can’t.")
		require.NoError(t, b.do(until(inCluster(`s.querySelector('.deployment.wrong') && s.querySelectorAll('.pod.trouble').length === 1`))))
		require.NoError(t, keep(b, "playground-broken"))
		require.NoError(t, b.do(tries("rollback"), showsPods(3, "web:2")))
		require.Contains(t, saidAfterwards(t, b), "3 Pods with web:2")
		assert.Empty(t, b.wrong(), page)
	}
}

// Scaling up ends when all Pods work, which those of web:bad never do. Whoever sees that tries something else.
func TestATryThatNeverEndsKeepsNobodyFromTheNextOne(t *testing.T) {
	open, _, address := startPlayground(t)
	b := open()
	require.NoError(t, b.do(width(desktop), chromedp.Navigate(address+"/index.html"), showsPods(3, "web:1"), tries("break"),
		in(inCluster(`s.querySelector('[data-try="scale up"]').click()`)), until(inCluster(`s.querySelector('.ask .answers button')`)),
		in(inCluster(`s.querySelector('.ask .answers button').click()`)), until(inCluster(`s.querySelector('.ask.running .close')`)),
		tries("rollback"), showsPods(4, "web:1")))
	require.Contains(t, saidAfterwards(t, b), "4 Pods with web:1")
	require.Empty(t, b.wrong())
}

func TestThePromptCompletesRemembersAndSaysWhatIsWrong(t *testing.T) {
	open, _, address := startPlayground(t)
	b := open()
	printed := func(text string) step {
		return until(inCluster(fmt.Sprintf(`s.querySelector('.prompt pre').textContent.includes(%q)`, text)))
	}
	line := func(text string) step {
		return until(inCluster(fmt.Sprintf(`s.querySelector('.prompt input').value === %q`, text)))
	}
	focus := in(inCluster(`s.querySelector('.prompt input').focus()`))
	require.NoError(t, b.do(width(desktop), chromedp.Navigate(address+"/index.html"), showsPods(3, "web:1"), focus,
		chromedp.KeyEvent("gte pods"+kb.Enter), printed(`unknown command "gte"`),
		chromedp.KeyEvent("get dep"+kb.Tab), line("get deployments "), chromedp.KeyEvent(kb.Enter), printed("UP-TO-DATE"),
		chromedp.KeyEvent(kb.ArrowUp+kb.ArrowUp), line("gte pods"), chromedp.KeyEvent(kb.ArrowDown), line("get deployments "),
		in(inCluster(`s.querySelector('.prompt input').select()`)), chromedp.KeyEvent("get pods -w"+kb.Enter),
		until(inCluster(`s.querySelector('.prompt form button').textContent === 'Ctrl-C'`)),
		in(inCluster(`s.querySelector('.prompt form button').click()`)), printed("^C"),
		until(inCluster(`s.querySelector('.prompt form button').textContent === 'Enter'`)),
		focus, chromedp.KeyEvent("apply -f -"), until(inCluster(`s.querySelector('.prompt textarea')`)), chromedp.KeyEvent(kb.Enter),
		printed("deployment.apps/api created"), until(inCluster(`s.querySelectorAll('.pod.wanted').length === 5`))))
	assert.Empty(t, b.wrong())
}

func TestAnotherProcessTakesOverFromALeaderThatIsKilledInThePage(t *testing.T) {
	open, _, address := startPlayground(t)
	b := open()
	require.NoError(t, b.do(width(desktop), chromedp.Navigate(address+"/index.html"), showsPods(3, "web:1"),
		tries("two replicas"), tries("kill leader"), showsPods(4, "web:1")))
	require.Contains(t, saidAfterwards(t, b), "mini-2 leads, and 4 Pods are there after ")
	require.NoError(t, b.do(tries("start process"), until(inCluster(`[...s.querySelectorAll('.processes li')].map(l => l.textContent).join() === 'mini-1 was killed,mini-2 leads,mini-3 waits'`))))
	assert.Empty(t, b.wrong())
}

// Each fault ends in what the page says of it.
func TestWhatThePageSaysOfEachFaultIsWhatHappens(t *testing.T) {
	open, _, address := startPlayground(t)
	b := open()
	require.NoError(t, b.do(width(desktop), chromedp.Navigate(address+"/index.html"), showsPods(3, "web:1")))
	for _, fault := range []struct{ id, says string }{
		{"hold watch", "2 Pods of 3, and the controller believes in 3."},
		{"release watch", "Nothing was listed."},
		{"cut watch", "It watches again, and has listed nothing."},
		{"expire watch", "mini has listed once, and watches from there. 3 Pods"},
		{"lose an answer", "4 Pods after "},
		{"pause", " has come. Change the image now"},
		{"resume", "The image is what it was"},
		{"delete", "All of it has gone"},
		{"create", "3 Pods after "},
	} {
		require.NoError(t, b.do(tries(fault.id)), fault.id)
		assert.Contains(t, saidAfterwards(t, b), fault.says, fault.id)
	}
	require.NoError(t, b.do(in(inCluster(`s.querySelectorAll('.node')[1].querySelectorAll('.acts button')[1].click()`)), ends()))
	assert.Contains(t, saidAfterwards(t, b), "On node-2, 1 Pod can’t end.")
	assert.Empty(t, b.wrong())
}
