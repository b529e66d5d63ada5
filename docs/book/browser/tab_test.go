package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/loopwright/loopwright/docs/book/internal/serve"
	"github.com/stretchr/testify/require"
)

// patience is for a machine that does other things, too.
const patience = 3 * time.Minute

// start returns a browser and the address at which the book is served to it. All
// tests have the same; each has tabs of its own, which know nothing of each other.
func start(t *testing.T) (browser context.Context, address string) {
	t.Helper()
	shared.once.Do(func() {
		server := httptest.NewServer(serve.Handler(theBook, base))
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(theBrowser.path),
			chromedp.Env(theBrowser.settings...), chromedp.Flag("force-prefers-reduced-motion", true))
		if os.Geteuid() == 0 { // a browser refuses to sandbox what root runs
			options = append(options, chromedp.NoSandbox)
		}
		allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
		browser, stopBrowser := chromedp.NewContext(allocator)
		shared.browser, shared.address = browser, server.URL+strings.TrimSuffix(base, "/")
		shared.stop = func() { stopBrowser(); stopAllocator(); server.Close() }
		shared.err = chromedp.Do(browser)
	})
	require.NoError(t, shared.err, "starting %s", theBrowser.path)
	return shared.browser, shared.address
}

var shared struct {
	once    sync.Once
	browser context.Context
	address string
	stop    func()
	err     error
}

// fromFolder is the address of a page that is opened as a file.
func fromFolder(page string) string {
	return "file://" + filepath.ToSlash(filepath.Join(theBook, page))
}

// tab is one page of the browser. It writes down what goes wrong.
type tab struct {
	ctx context.Context

	mu        sync.Mutex
	problems  []string // guarded by mu: the browser reports while a test reads
	addresses []string // guarded by mu: what the tab has asked for
}

func newTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	b := &tab{}
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.listen))
	t.Cleanup(closeTab)
	b.ctx = ctx
	require.NoError(t, chromedp.Do(ctx, call(network.Enable, network.EnableParams{})))
	return b
}

// step is an action that returns nothing.
type step = chromedp.Action[chromedp.Void]

// call is a command of the browser's own protocol.
func call[P, R any](command cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problem("an exception: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			var words []string
			for _, arg := range e.Args {
				words = append(words, string(arg.Value)+arg.Description)
			}
			b.problem("console: %s", strings.Join(words, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" {
			b.problem("console: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		b.mu.Lock()
		b.addresses = append(b.addresses, e.Request.URL)
		b.mu.Unlock()
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

// asked returns the addresses that the tab has asked for.
func (b *tab) asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.addresses)
}

// do runs actions, each of which may take as long as our patience lasts.
func (b *tab) do(steps ...step) error {
	for _, step := range steps {
		ctx, stop := context.WithTimeout(b.ctx, patience)
		err := chromedp.Do(ctx, step)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// inBook writes @path in an expression as the address below that of the book.
func inBook(expression string) string {
	return strings.ReplaceAll(expression, "@path", "location.pathname.replace("+strconv.Quote(strings.TrimSuffix(base, "/"))+", '')")
}

// until waits for a condition in the page, or in the one that takes its place.
func until(condition string) step {
	poll := chromedp.Poll[bool]("Boolean("+inBook(condition)+")", chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience))
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		for {
			_, err := poll(ctx, t)
			if err == nil || ctx.Err() != nil || errors.Is(err, chromedp.ErrPollingTimeout) {
				return chromedp.Void{}, wrap(err, "waiting until %s", condition)
			}
		}
	}
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// A page is ready when its scripts run. Source pages have none.
const ready = `document.readyState === 'complete' &&
	(!document.querySelector('#app') || location.protocol === 'file:' || document.querySelector('#app').__vue_app__)`

func open(address string) step { return chromedp.Steps(chromedp.Navigate(address), until(ready)) }

const (
	desktop = 1280
	phone   = 375
)

func width(pixels int64) step {
	return call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: pixels, Height: 800, DeviceScaleFactor: 1, Mobile: pixels == phone,
	})
}

// get evaluates an expression of the page.
func get[T any](b *tab, expression string) (value T, err error) {
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	return chromedp.Run(ctx, chromedp.Evaluate[T](inBook(expression)))
}

// in runs a statement in the page.
func in(statement string) step {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Evaluate[any](statement+"; null")(ctx, t)
		return chromedp.Void{}, err
	}
}

// keep writes a picture of the page, if somebody wants pictures.
func keep(b *tab, name string) error {
	dir := os.Getenv("BOOK_SCREENSHOTS")
	if dir == "" {
		return nil
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
}
