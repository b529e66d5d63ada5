package browser

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/loopwright/loopwright/docs/book/internal/serve"
	"github.com/stretchr/testify/require"
)

// patience is for a machine that does other things, too.
const patience = time.Minute

// start runs a browser until the test is over, and serves the book to it.
func start(t *testing.T) (browser context.Context, address string) {
	t.Helper()
	server := httptest.NewServer(serve.Handler(theBook))
	t.Cleanup(server.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(theBrowser), chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("force-prefers-reduced-motion", true))
	if os.Geteuid() == 0 { // a browser refuses to sandbox what root runs
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	browser, stopBrowser := chromedp.NewContext(allocator)
	t.Cleanup(stopBrowser)
	require.NoError(t, chromedp.Run(browser), "starting %s", theBrowser)
	return browser, server.URL
}

// fromFolder is the address of a page that is opened as a file.
func fromFolder(page string) string {
	return "file://" + filepath.ToSlash(filepath.Join(theBook, page))
}

// tab is one page of the browser. It writes down what goes wrong.
type tab struct {
	ctx context.Context

	mu       sync.Mutex
	problems []string // guarded by mu: the browser reports while a test reads
}

func newTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	b := &tab{ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	require.NoError(t, chromedp.Run(ctx, network.Enable()))
	return b
}

func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problem("%v", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			var words []string
			for _, arg := range e.Args {
				words = append(words, string(arg.Value)+arg.Description)
			}
			b.problem("console: %s", strings.Join(words, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			b.problem("console: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			b.problem("a request failed: %s", e.ErrorText)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			b.problem("%s: %d", e.Response.URL, e.Response.Status)
		}
	}
}

func (b *tab) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// wrong returns what went wrong since it was last asked.
func (b *tab) wrong() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

// do runs actions, each of which may take as long as our patience lasts.
func (b *tab) do(actions ...chromedp.Action) error {
	for _, action := range actions {
		ctx, stop := context.WithTimeout(b.ctx, patience)
		err := chromedp.Run(ctx, action)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// until waits for a condition in the page.
func until(condition string) chromedp.Action {
	return chromedp.Poll("Boolean("+condition+")", nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience))
}

// A page is ready when its scripts run and its diagrams are drawn. Source pages have no scripts.
const ready = `document.readyState === 'complete' &&
	(!document.querySelector('#app') || location.protocol === 'file:' || document.querySelector('#app').__vue_app__) &&
	[...document.querySelectorAll('.diagram')].every(d => d.dataset.look)`

func open(address string) chromedp.Action {
	return chromedp.Tasks{chromedp.Navigate(address), until(ready)}
}

const (
	desktop = 1280
	phone   = 375
)

func width(pixels int64) chromedp.Action {
	return emulation.SetDeviceMetricsOverride(pixels, 800, 1, pixels == phone)
}

// get evaluates an expression of the page.
func get[T any](b *tab, expression string) (value T, err error) {
	err = b.do(chromedp.Evaluate(expression, &value))
	return value, err
}

// keep writes a picture of the page, if somebody wants pictures.
func keep(b *tab, name string) error {
	dir := os.Getenv("BOOK_SCREENSHOTS")
	if dir == "" {
		return nil
	}
	var picture []byte
	if err := b.do(chromedp.CaptureScreenshot(&picture)); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
}
