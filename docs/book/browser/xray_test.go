package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

// observed is a program that X-ray shows: a manager, whose controller gives each ConfigMap a Pod
// of the same name.
type observed struct {
	client   client.Client
	recorder *trace.Recorder
	xray     *xray.XRay
}

func observe(t *testing.T) *observed {
	t.Helper()
	api := fakeapi.New(fakeapi.Options{})
	t.Cleanup(api.Close)
	recorder := trace.New(0)
	mgr, err := loopwright.NewManager(api.Config(), loopwright.Options{
		Recorder: recorder, Metrics: server.Options{BindAddress: "0"},
	})
	require.NoError(t, err)
	c := mgr.GetClient()
	require.NoError(t, loopwright.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).
		Owns(&corev1.Pod{}).Complete(reconcile.Func(
		func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			owner := &corev1.ConfigMap{}
			if err := c.Get(ctx, req.NamespacedName, owner); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}
			if err := controllerutil.SetControllerReference(owner, pod, mgr.GetScheme()); err != nil {
				return reconcile.Result{}, err
			}
			return reconcile.Result{}, client.IgnoreAlreadyExists(c.Create(ctx, pod))
		})))
	o := &observed{client: c, recorder: recorder, xray: xray.New(recorder)}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	require.True(t, mgr.GetCache().WaitForCacheSync(ctx))
	return o
}

func (o *observed) serve(t *testing.T) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(xray.Path, o.xray)
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return web.URL + xray.Path
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// shows is true if an element that the selector finds has the text in it.
func shows(selector, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))`, selector, text)
}

func openXRay(address string) step {
	return chromedp.Steps(chromedp.Navigate(address), until(`document.querySelector('h1')?.textContent === 'X-ray'`))
}

func screen() step { return width(desktop) }

func TestXRayShowsAChangeOnItsWay(t *testing.T) {
	browser, _ := start(t)
	o := observe(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(screen(), openXRay(o.serve(t)), until(shows(".kind h3", "ConfigMap")), until(shows(".state", "live"))))
	require.NoError(t, o.client.Create(context.Background(), configMap("web")))

	require.NoError(t, b.do(
		until(shows(`[data-kind="ConfigMap"] .cache`, "1 object")),
		until(shows(`[data-kind="Pod"]`, "own write back")),
		until(shows(`[data-controller="configmap"] .handlers`, "ConfigMap 1")),
		until(shows(`[data-controller="configmap"] .write`, "create Pod default/web ok")),
		until(shows(`[data-controller="configmap"] .write`, ", back ")),
		until(shows(`.troubles`, "No queue, watch or worker is stuck."))))
	require.NoError(t, keep(b, "xray"))

	// One object: why, its reconcile and its write, and the way back to the picture.
	require.NoError(t, b.do(in(`document.querySelector('input[type=search]').focus()`),
		chromedp.KeyEvent("ConfigMap default/web"+kb.Enter), until(`document.querySelector('.story')`)))
	why, err := get[string](b, `document.querySelector('.why-line').textContent`)
	require.NoError(t, err)
	require.Contains(t, why, "configmap reconciled default/web at ")
	require.NoError(t, b.do(until(shows(".story li", "reconciled in")), until(shows(".story li", "create written")),
		until(`document.querySelectorAll('.lane-reconcile .bar').length >= 1`),
		until(`document.querySelectorAll('.lane-write .bar').length >= 1`),
		until(`document.querySelectorAll('.axis .mark').length >= 2`)))
	require.NoError(t, keep(b, "xray-story"))
	require.NoError(t, b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab),
		in(`document.activeElement.blur()`), chromedp.KeyEvent(kb.Escape), until(`!document.querySelector('.story')`)))
	assert.Empty(t, b.wrong())
}

func TestXRayGoesBackInTime(t *testing.T) {
	browser, _ := start(t)
	o := observe(t)
	b := newTab(t, browser)
	require.NoError(t, o.client.Create(context.Background(), configMap("web")))
	require.NoError(t, b.do(screen(), openXRay(o.serve(t)), until(shows(".write", "back "))))
	require.NoError(t, b.do(chromedp.KeyEvent("p"), until(shows(".state", "the past")),
		in(`const r = document.querySelector('input[type=range]'); r.value = 1; r.dispatchEvent(new Event('input', {bubbles: true}))`),
		until(`document.querySelectorAll('.write').length === 0`), until(shows("header .play", "Live"))))
	// What happens meanwhile is not shown, and not lost.
	require.NoError(t, o.client.Create(context.Background(), configMap("other")))
	require.NoError(t, b.do(chromedp.KeyEvent(kb.ArrowRight), until(`document.querySelector('input[type=range]').value === '2'`),
		chromedp.KeyEvent("p"), until(shows(".write", "create Pod default/other")), until(shows(".state", "live"))))
	assert.Empty(t, b.wrong())
}

func TestXRayOpensWhatItHasSaved(t *testing.T) {
	browser, _ := start(t)
	o := observe(t)
	require.NoError(t, o.client.Create(context.Background(), configMap("web")))
	b := newTab(t, browser)
	address := o.serve(t)
	require.NoError(t, b.do(screen(), openXRay(address), until(shows(".write", ", back "))))
	answer := httptest.NewRecorder()
	o.xray.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/recording", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	file := filepath.Join(t.TempDir(), "of a bug.jsonl")
	require.NoError(t, os.WriteFile(file, answer.Body.Bytes(), 0o600))

	upload := chromedp.SetUploadFiles(chromedp.CSS(`input[type=file]`), []string{file})
	require.NoError(t, b.do(upload, until(shows(".state", "recording")), until(shows(".program", "of a bug.jsonl")),
		until(shows(`[data-controller="configmap"] .write`, "create Pod default/web ok")),
		in(`const s = document.querySelector('select'); s.value = '0.01'; s.dispatchEvent(new Event('change', {bubbles: true}))`),
		chromedp.KeyEvent("p"), until(shows("header .play", "Pause")), until(`document.querySelectorAll('.write').length === 0`),
		until(shows(".write", "create Pod")), chromedp.KeyEvent("p"), until(shows("header .play", "Play"))))

	ctx, stop := context.WithCancel(context.Background())
	addresses, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- xray.ServeFile(ctx, file, func(url string) { addresses <- url }) }()
	require.NoError(t, b.do(openXRay(<-addresses), until(shows(".write", "create Pod default/web ok"))))
	assert.Empty(t, b.wrong())

	wrong := filepath.Join(t.TempDir(), "notes.jsonl")
	require.NoError(t, os.WriteFile(wrong, []byte("{\"seq\": 1}\n"), 0o600))
	require.NoError(t, b.do(chromedp.SetUploadFiles(chromedp.CSS(`input[type=file]`), []string{wrong}),
		until(shows(".error", "Line 1 is no event of a recording")), until(shows(".write", "create Pod"))))
	stop()
	require.NoError(t, <-ended)
}

// Ten thousand objects and a queue of as many stay a picture.
func TestXRayFoldsWhatIsTooMuch(t *testing.T) {
	browser, _ := start(t)
	recorder := trace.New(1 << 15)
	for i := range 30 {
		kind := "Kind" + strconv.Itoa(i)
		recorder.Record(trace.Event{Kind: trace.List, Layer: "listwatch", Object: kind, Count: 10_000, Version: "7"})
	}
	for i := range 10_000 {
		recorder.Record(trace.Event{Kind: trace.Enqueue, Layer: "shop", Namespace: "default", Name: "order-" + strconv.Itoa(i), Reason: "Order created"})
	}
	b := newTab(t, browser)
	require.NoError(t, b.do(screen(), openXRay((&observed{xray: xray.New(recorder)}).serve(t)),
		until(shows(".queue h4", "10,000")), until(shows(".queue", "and 9,997 more")),
		until(shows(".fold", "18 more kinds")), until(`document.querySelectorAll('.kind').length === 12`)))
	require.NoError(t, keep(b, "xray-much"))
	require.NoError(t, b.do(in(`document.querySelector('.fold').click()`), until(`document.querySelectorAll('.kind').length === 30`)))
	assert.Empty(t, b.wrong())
}

// A page is usable by everybody: no control is without a name, the keyboard reaches each, and
// nothing is wider than a projector or smaller than can be read.
func TestXRayIsForEverybody(t *testing.T) {
	browser, _ := start(t)
	o := observe(t)
	require.NoError(t, o.client.Create(context.Background(), configMap("web")))
	address := o.serve(t)
	for _, look := range []string{"light", "dark"} {
		b := newTab(t, browser)
		require.NoError(t, b.do(screen(), inColors(look), openXRay(address), until(shows(".write", ", back ")),
			in(`document.querySelector('.write').click()`), until(`document.querySelector('.story')`)))
		nameless, err := get[[]string](b, `[...document.querySelectorAll('button, input, select, a, article, section')]
			.filter(e => !e.hidden && !(e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML)`)
		require.NoError(t, err)
		assert.Empty(t, nameless)
		wide, err := get[bool](b, `document.documentElement.scrollWidth > innerWidth`)
		require.NoError(t, err)
		assert.False(t, wide, "the page is wider than the screen")
		small, err := get[[]string](b, `[...document.querySelectorAll('body *')].filter(e => e.childElementCount === 0 && e.textContent.trim() &&
			parseFloat(getComputedStyle(e).fontSize) < 11).map(e => e.textContent)`)
		require.NoError(t, err)
		assert.Empty(t, small)
		pale, err := get[[]string](b, tooPale)
		require.NoError(t, err)
		assert.Empty(t, pale, "in the "+look)
		require.NoError(t, keep(b, "xray-"+look))

		reached := map[string]bool{}
		for range 80 {
			require.NoError(t, b.do(chromedp.KeyEvent(kb.Tab)))
			at, err := get[string](b, `document.activeElement?.closest('form, .controls, .writes, .story')?.className || document.activeElement?.closest('form')?.role || ''`)
			require.NoError(t, err)
			reached[at] = true
			if reached["controls"] && reached["writes"] && reached["story"] && reached["search"] {
				break
			}
		}
		assert.Subset(t, reached, map[string]bool{"controls": true, "writes": true, "story": true, "search": true})
		assert.Empty(t, b.wrong())
	}
}

// tooPale lists texts whose contrast to what is behind them is below 4.5, which WCAG asks for.
const tooPale = `(() => {
	const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
	const rgb = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data] }
	const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
	const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c } return [255, 255, 255] }
	return [...document.querySelectorAll('body *')].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.offsetParent)
		.filter(e => { const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x); return (a + .05) / (b + .05) < 4.5 })
		.map(e => e.className + ': ' + e.textContent.slice(0, 40))
})()`

// The page names each trouble in a sentence. These are the events that such programs record.
func TestXRayNamesTheTrouble(t *testing.T) {
	browser, _ := start(t)
	queue := func(kind trace.Kind, name string) trace.Event {
		return trace.Event{Kind: kind, Layer: "shop", Object: "Order", Namespace: "default", Name: name}
	}
	// again plays an order that is reconciled 50 times in 5 s.
	again := func(one func(i int) []trace.Event) (all []trace.Event) {
		for i := range 50 {
			for _, e := range one(i) {
				e.At = time.Duration(i) * 100 * time.Millisecond
				all = append(all, e)
			}
		}
		return all
	}
	changed := func(i int, object string) []trace.Event {
		version := strconv.Itoa(100 + i)
		asked := queue(trace.Handler, "one")
		asked.Object, asked.Version, asked.ToNamespace, asked.ToName = object, version, "default", "one"
		return []trace.Event{
			{Kind: trace.WatchEvent, Layer: "listwatch", Object: object, Namespace: "default", Name: "one", Version: version, Op: "MODIFIED"},
			asked, queue(trace.Enqueue, "one"), queue(trace.Dequeue, "one"), queue(trace.ReconcileStart, "one"),
		}
	}
	failed := queue(trace.ReconcileEnd, "one")
	failed.Outcome, failed.Reason = trace.Failed, "the load balancer has no address"
	later := queue(trace.Delay, "one")
	later.At, later.Took = 2*time.Second, 41*time.Second
	for _, trouble := range []struct {
		name   string
		events []trace.Event
		want   string
	}{
		{"a list that is forbidden", []trace.Event{{Kind: trace.Error, Layer: "listwatch", Object: "Secret",
			Reason: `listing secrets: secrets is forbidden: User "system:serviceaccount:shop:shop" cannot list resource "secrets" in API group "" at the cluster scope`}},
			`Waiting for the list of Secrets: forbidden. The rule that is missing is {apiGroups: [""], resources: ["secrets"], verbs: [list, watch]} in a ClusterRole, bound to system:serviceaccount:shop:shop.`},
		{"a loop of one's own writes", again(func(i int) []trace.Event {
			write := trace.Event{Kind: trace.Write, Layer: "shop", Op: "update status", Object: "Order", Namespace: "default", Name: "one",
				Version: strconv.Itoa(101 + i), ToNamespace: "default", ToName: "one"}
			return append(changed(i, "Order"), write, queue(trace.ReconcileEnd, "one"), queue(trace.Done, "one"))
		}), "shop has reconciled default/one 50 times in 10 s, mostly because of its own writes: each update status Order default/one comes back as an event that asks for the next reconcile."},
		{"a predicate that is missing", again(func(i int) []trace.Event {
			return append(changed(i, "Node"), queue(trace.ReconcileEnd, "one"), queue(trace.Done, "one"))
		}), "shop has reconciled default/one 50 times in 10 s, and most of them wrote nothing: each change of Node default/one asks for one. A predicate is missing that lets through only changes that matter."},
		{"a queue behind a slow reconcile", []trace.Event{
			queue(trace.Enqueue, "one"), queue(trace.Dequeue, "one"), queue(trace.ReconcileStart, "one"),
			queue(trace.Enqueue, "two"), queue(trace.Enqueue, "three"), {Kind: trace.Note, At: 30 * time.Second},
		}, "2 requests of shop wait, the first for 30 s, because its worker reconciles default/one for 30 s."},
		{"a reconcile that fails again and again", []trace.Event{failed, failed, failed, later},
			"shop has failed 3 times in a row to reconcile default/one: the load balancer has no address. The next attempt is in 41 s."},
		{"a lease that another one holds", []trace.Event{{Kind: trace.Lease, Layer: "shop-2", Op: "lost", Object: "Lease", Namespace: "default",
			Name: "shop", Reason: "shop-1 leads"}},
			"This process does not lead, so its controllers do nothing: the lease default/shop is lost (shop-1 leads)."},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			for i := range trouble.events {
				trouble.events[i].Seq = uint64(i + 1)
			}
			var file strings.Builder
			require.NoError(t, trace.WriteJSON(&file, time.Now(), trouble.events))
			path := filepath.Join(t.TempDir(), "trouble.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(file.String()), 0o600))
			ctx, stop := context.WithCancel(context.Background())
			addresses, ended := make(chan string, 1), make(chan error, 1)
			go func() { ended <- xray.ServeFile(ctx, path, func(url string) { addresses <- url }) }()
			defer func() { stop(); require.NoError(t, <-ended) }()
			b := newTab(t, browser)
			require.NoError(t, b.do(openXRay(<-addresses), until(shows(".state", "recording"))))
			said, err := get[string](b, `document.querySelector('.troubles').textContent`)
			require.NoError(t, err)
			assert.Contains(t, said, trouble.want)
			assert.Empty(t, b.wrong())
		})
	}
}

// The buttons of step mode, on a program of mini that writes a Pod for each ConfigMap.
func TestXRayHoldsTheWorkersAndTheWatch(t *testing.T) {
	browser, _ := start(t)
	api := fakeapi.New(fakeapi.Options{})
	t.Cleanup(api.Close)
	recorder := trace.New(0)
	steps := xray.NewSteps(recorder)
	config := api.Config()
	user, err := mini.NewCluster(config, scheme.Scheme)
	require.NoError(t, err)
	config.Wrap(steps.Wrap)
	cluster, err := mini.NewCluster(config, scheme.Scheme)
	require.NoError(t, err)
	cluster.Trace = recorder
	m := mini.NewManager(cluster)
	informer, err := m.Cache.Informer(&corev1.ConfigMap{})
	require.NoError(t, err)
	steps.HasWorkers()
	c := mini.NewController("pods", mini.ReconcilerFunc(func(ctx context.Context, req mini.Request) (mini.Result, error) {
		if err := steps.Wait(ctx); err != nil {
			return mini.Result{}, err
		}
		return mini.Result{}, m.Client.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}})
	}))
	c.Trace, c.Queue.Trace = recorder, recorder
	c.Watch(informer, mini.EnqueueObject)
	m.AddController(c)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	address, err := xray.Serve(ctx, recorder, steps)
	require.NoError(t, err)

	button := func(name string) step {
		found := fmt.Sprintf(`[...document.querySelectorAll('.steps button')].filter(b => b.textContent === %q)[0]`, name)
		return chromedp.Steps(until(found), in(found+`.click()`))
	}
	by := &mini.Client{Cluster: user}
	b := newTab(t, browser)
	require.NoError(t, b.do(screen(), openXRay(address), until(shows(".steps option", "configmaps")), button("Hold"), until(shows(".steps", "One step"))))
	require.NoError(t, by.Create(ctx, configMap("one")))
	require.NoError(t, by.Create(ctx, configMap("two")))
	running := `[data-controller="pods"] .workers`
	require.NoError(t, b.do(until(shows(".held", "Held by step mode: the workers.")), until(shows(running, "default/one")), until(shows(`[data-controller="pods"] .queue`, "default/two"))))
	require.NoError(t, keep(b, "xray-steps"))
	require.NoError(t, b.do(button("One step"), until(shows(".write", "create Pod default/one ok")), until(shows(running, "default/two"))))
	require.NoError(t, b.do(button("Go on"), until(shows(".write", "create Pod default/two ok"))))

	hold := `[...document.querySelectorAll('.steps button')].filter(b => b.textContent === 'Hold')[1]`
	require.NoError(t, b.do(until(hold), in(hold+`.click()`), until(shows(".steps", "Go on"))))
	require.NoError(t, by.Create(ctx, configMap("three")))
	require.NoError(t, b.do(button("410 Gone"), button("Go on"),
		until(shows(".write", "create Pod default/three ok")), until(shows(`[data-kind="ConfigMap"]`, "1 relist"))))
	assert.Empty(t, b.wrong())
}

// What the chapters say of their recordings is in them.
func TestXRayShowsInTheRecordingsWhatTheChaptersSay(t *testing.T) {
	browser, _ := start(t)
	seek := func(played int) step {
		return in(fmt.Sprintf(`const r = document.querySelector('input[type=range]'); r.value = %d; r.dispatchEvent(new Event('input', {bubbles: true}))`, played))
	}
	search := func(object string) step {
		return chromedp.Steps(in(`document.querySelector('input[type=search]').focus()`), chromedp.KeyEvent(object+kb.Enter),
			until(`document.querySelector('.story')`))
	}
	for chapter, steps := range map[string][]step{
		"05-shared": {until(shows(`[data-kind="Secret"] .cache`, "5 objects")), seek(4), until(shows(`[data-kind="Secret"] .cache`, "0 objects"))},
		"06-queue": {seek(3), until(shows(".event", "a worker has it, queued again after Done")),
			until(shows(`[data-controller="queue"] .queue`, "/web")), until(shows(`[data-controller="queue"] .workers`, "/web"))},
		"10-client": {search("ConfigMap " + namespaceIn(t, "10-client") + "/home"),
			until(`document.querySelectorAll('.lane-write .bar').length === 3`), until(`document.querySelectorAll('.lane-write .bar.conflict').length === 1`)},
		"12-first-replicaset": {until(shows(`[data-controller="replicaset"] .write`, "create Pod")), until(shows(`[data-kind="Pod"]`, "own write back"))},
		"13-lease":            {until(shows(".lease", "/websites"))},
		"20-owner": {until(shows(".write", "patch")), in(`[...document.querySelectorAll('.write')].filter(w => w.textContent.startsWith('patch'))[0].click()`),
			until(shows(".why-line", "is not reconciled itself. replicaset wrote it at ")), until(shows(".why-line", "in the reconcile of "+namespaceIn(t, "20-owner")+"/web."))},
	} {
		t.Run(chapter, func(t *testing.T) {
			b := newTab(t, browser)
			require.NoError(t, b.do(screen(), openXRay(fromFolder("chapters/"+chapter+"/testdata/xray.html")), until(shows(".state", "recording"))))
			require.NoError(t, b.do(steps...))
			assert.Empty(t, b.wrong())
		})
	}
}

// namespaceIn is that of the demo in a chapter's recording.
func namespaceIn(t *testing.T, chapter string) string {
	text, err := os.ReadFile(filepath.Join("../../../chapters", chapter, "testdata", "xray.jsonl"))
	require.NoError(t, err)
	return regexp.MustCompile(`demo-\w+`).FindString(string(text))
}

// docs/xray.png is a picture of docs/demo.jsonl: BOOK_SCREENSHOTS=DIR makes it.
func TestXRayDrawsThePictureOfTheDocs(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	require.NoError(t, b.do(call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: desktop, Height: 630, DeviceScaleFactor: 1}),
		openXRay(fromFolder("docs/demo.html")), until(shows(".controller h3", "deployment")),
		until(shows(".controller h3", "replicaset")), until(shows(".controller h3", "endpoints"))))
	require.NoError(t, keep(b, "xray-docs"))
	assert.Empty(t, b.wrong())
}
