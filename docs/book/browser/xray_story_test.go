package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

// openDemo shows the recording of mini's controllers, in which a Deployment and a Service are both
// called web. It returns the namespace of the two.
func openDemo(t *testing.T, b *tab) (namespace string) {
	t.Helper()
	text, err := os.ReadFile("../../demo.jsonl")
	require.NoError(t, err)
	require.NoError(t, b.do(screen(), openXRay(fromFolder("docs/demo.html")), until(shows(".state", "recording")),
		until(shows(`[data-controller="deployment"] .queue`, "/web"))))
	return regexp.MustCompile(`demo-\w+`).FindString(string(text))
}

// search types what is looked for over what the field has.
func search(object string) step {
	return chromedp.Steps(in(`document.querySelector('input[type=search]').select()`), chromedp.KeyEvent(object+kb.Enter),
		until(fmt.Sprintf(`document.querySelector('.story h2')?.textContent === %q`, object)))
}

const (
	heading = `document.querySelector('.story h2').textContent`
	field   = `document.querySelector('input[type=search]').value`
	layers  = `[...new Set([...document.querySelectorAll('.story .layer')].map(e => e.textContent))]`
)

// The requests of mini have no kind: of two objects with one name, each has a story of its own.
func TestXRayTellsTheStoryOfADeploymentWithoutThatOfTheServiceOfItsName(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	web := openDemo(t, b) + "/web"
	for kind, controllers := range map[string][2]string{
		"Deployment": {"deployment", "endpoints"}, "Service": {"endpoints", "deployment"}, "Endpoints": {"endpoints", "deployment"},
	} {
		require.NoError(t, b.do(search(kind+" "+web)))
		why, err := get[string](b, `document.querySelector('.why-line').textContent`)
		require.NoError(t, err)
		assert.Contains(t, why, controllers[0]+" reconciled "+web, kind)
		told, err := get[[]string](b, layers)
		require.NoError(t, err)
		assert.Contains(t, told, controllers[0], kind)
		assert.NotContains(t, told, controllers[1], kind)
	}
	require.NoError(t, b.do(search(web)))
	told, err := get[[]string](b, layers)
	require.NoError(t, err)
	assert.Subset(t, told, []string{"deployment", "endpoints"}, "a name alone means all that are called so")
	assert.Empty(t, b.wrong())
}

// Whoever has clicked wants to know whose story it is, and to change a letter of the name.
func TestXRaysFieldSaysWhoseStoryIsShown(t *testing.T) {
	browser, _ := start(t)
	b := newTab(t, browser)
	web := openDemo(t, b) + "/web"
	for selector, want := range map[string]string{
		`[data-controller="deployment"] .queue button`: "Deployment " + web,
		`[data-controller="endpoints"] .write`:         "Endpoints " + web,
	} {
		require.NoError(t, b.do(search("Service "+web), in(fmt.Sprintf(`document.querySelector(%q).click()`, selector)),
			until(fmt.Sprintf(`%s === %q`, heading, want)), until(fmt.Sprintf(`%s === %q`, field, want))))
	}
	require.NoError(t, b.do(in(`document.activeElement.blur()`), chromedp.KeyEvent(kb.Escape), until(`!document.querySelector('.story')`),
		until(field+` === ''`)))
	assert.Empty(t, b.wrong())

	// A controller whose requests two kinds ask for.
	b = showEvents(t, browser, asks("endpoints", "Service", "web"), asks("endpoints", "Endpoints", "web"), onRequest(trace.Enqueue, "endpoints", "web"))
	const both = "Endpoints or Service default/web"
	require.NoError(t, b.do(in(`document.querySelector('[data-controller="endpoints"] .queue button').click()`),
		until(fmt.Sprintf(`%s === %q`, field, both)), search(both), until(`document.querySelectorAll('.story li').length === 3`)))
	assert.Empty(t, b.wrong())
}

func TestTheStoryOfAnObjectLeavesTheWritesInSight(t *testing.T) {
	browser, _ := start(t)
	for _, pixels := range []int64{1280, 1920} {
		for _, look := range []string{"light", "dark"} {
			b := newTab(t, browser)
			web := openDemo(t, b) + "/web"
			require.NoError(t, b.do(width(pixels), inColors(look), search("Deployment "+web)))
			hidden, err := get[[]string](b, `[...document.querySelectorAll('.write, .workers, .queue, .handlers')].filter(e => e.closest('.controller') &&
				(e.getBoundingClientRect().right > document.querySelector('.story').getBoundingClientRect().left || e.scrollWidth > e.clientWidth))
				.map(e => e.textContent)`)
			require.NoError(t, err)
			assert.Empty(t, hidden, "at %d pixels", pixels)
			require.NoError(t, keep(b, fmt.Sprintf("xray-story-%d-%s", pixels, look)))
			assert.Empty(t, b.wrong())
		}
	}
}

// showEvents shows a recording that has these events.
func showEvents(t *testing.T, browser context.Context, events ...trace.Event) *tab {
	t.Helper()
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	var text strings.Builder
	require.NoError(t, trace.WriteJSON(&text, time.Now(), events))
	return showRecording(t, browser, text.String())
}

// showRecording shows a file.
func showRecording(t *testing.T, browser context.Context, text string) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	ctx, stop := context.WithCancel(context.Background())
	addresses, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- xray.ServeFile(ctx, file, func(url string) { addresses <- url }) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	b := newTab(t, browser)
	require.NoError(t, b.do(screen(), openXRay(<-addresses), until(shows(".state", "recording"))))
	return b
}

// asks is the handler of a controller that gets a change of an object and asks for a request of its name.
func asks(controller, kind, name string) trace.Event {
	return trace.Event{Kind: trace.Handler, Layer: controller, Object: kind, Namespace: "default", Name: name, Version: "7",
		ToNamespace: "default", ToName: name}
}

func onRequest(kind trace.Kind, controller, name string) trace.Event {
	return trace.Event{Kind: kind, Layer: controller, Namespace: "default", Name: name}
}

// What the recorder has forgotten is no reason to leave out what it has.
func TestAStoryKeepsTheRequestsOfAControllerOfWhichNothingElseIsKnown(t *testing.T) {
	browser, _ := start(t)
	b := showEvents(t, browser, asks("shop", "Order", "one"), onRequest(trace.Enqueue, "shop", "one"),
		onRequest(trace.Enqueue, "queue", "one"))
	require.NoError(t, b.do(search("Order default/one"), until(`document.querySelectorAll('.story li').length === 3`)))
	require.NoError(t, b.do(search("Invoice default/one"), until(`document.querySelectorAll('.story li').length === 3`)))
}

// The controllers of mini do not record of which kind their requests are.
func TestAFinalizerIsNotStuckWhileAControllerOfMiniHasItsObject(t *testing.T) {
	browser, _ := start(t)
	deleted := trace.Event{Kind: trace.WatchEvent, Layer: "reflector", Object: "Order", Namespace: "default", Name: "one",
		Op: "MODIFIED", Version: "7", Reason: "example.com/invoice"}
	later := trace.Event{Kind: trace.Note, At: time.Minute}
	const stuck = "The finalizer example.com/invoice has blocked the deletion of Order default/one for 60 s"
	for want, events := range map[bool][]trace.Event{
		true:  {deleted, asks("shop", "Order", "two"), onRequest(trace.Enqueue, "shop", "two"), later},
		false: {deleted, asks("shop", "Order", "one"), onRequest(trace.Enqueue, "shop", "one"), later},
	} {
		b := showEvents(t, browser, events...)
		said, err := get[string](b, `document.querySelector('.troubles').textContent`)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Contains(said, stuck), said)
	}
}

// Three replicas share the namespaces, and this recording is of one of them. It shows who has what: a
// box for each, and which namespaces it's about to give away.
func TestXRayShowsWhichReplicaHasWhichNamespaces(t *testing.T) {
	browser, _ := start(t)
	shard := func(namespace, op, reason string) trace.Event {
		return trace.Event{Kind: trace.Shard, Layer: "shards websites", Object: "Namespace", Name: namespace, Op: op, Reason: reason}
	}
	b := showEvents(t, browser,
		shard("shop", "held", "websites-a"), shard("shop", "begins", ""),
		shard("bank", "held", "websites-a"), shard("bank", "begins", ""), shard("bank", "stops", ""),
		shard("zoo", "held", "websites-a"), shard("zoo", "begins", ""), shard("zoo", "stops", ""), shard("zoo", "ended", ""),
		shard("zoo", "held", "websites-b"),
		shard("inn", "held", "websites-b"), shard("inn", "held", ""), // which was deleted
	)
	box := func(replica string) string { return fmt.Sprintf(`.lease[aria-label="Shard of %s"]`, replica) }
	require.NoError(t, b.do(until(shows(box("websites-a"), "shop")), until(shows(box("websites-a"), "bank (stopping)")),
		until(shows(box("websites-a"), "this replica")), until(shows(box("websites-b"), "zoo"))))
	text, err := get[string](b, `[...document.querySelectorAll('.lease')].map(e => e.textContent).join('\n')`)
	require.NoError(t, err)
	assert.NotContains(t, text, "inn")
	assert.Equal(t, 1, strings.Count(text, "zoo"), text)
	assert.Equal(t, 1, strings.Count(text, "this replica"), text)
	require.NoError(t, b.do(in(`[...document.querySelectorAll('.lease button')].find(e => e.textContent === 'zoo').click()`),
		until(shows(".story", "zoo"))))
	assert.Empty(t, b.wrong())
}
