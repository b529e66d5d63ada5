package cache_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/internal/logtest"
)

// hostile is what may answer in an API server's place, or a server that's behind. None of it says that a kind was
// deleted.
var hostile = []struct {
	name   string
	answer func(*http.Request) *http.Response
}{
	{"a text 404 for everything", func(*http.Request) *http.Response { return plain404() }},
	{"an HTML 404 for everything", func(*http.Request) *http.Response {
		return says(http.StatusNotFound, "text/html", "<html><title>404 Not Found</title></html>")
	}},
	{"a Status 404 for everything", func(*http.Request) *http.Response {
		return says(http.StatusNotFound, "application/json", `{"kind":"Status","apiVersion":"v1","metadata":{},`+
			`"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`)
	}},
	{"a 404 for discovery only", func(r *http.Request) *http.Response {
		if !isDiscovery(r.URL.Path) {
			return nil
		}
		return plain404()
	}},
	{"a login page for discovery", but404("text/html", "<html><title>Log in</title></html>")},
	{"a login page that's called JSON", but404("application/json", "<html><title>Log in</title></html>")},
	{"another service's JSON", but404("application/json", `{"code":200,"message":"welcome"}`)},
	{"an empty object", but404("application/json", `{}`)},
	{"an empty list of groups", onApis(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)},
	{"a list without the built-in groups", onApis(`{"kind":"APIGroupList","apiVersion":"v1","groups":[` +
		`{"name":"bank.example.com","versions":[{"groupVersion":"bank.example.com/v1","version":"v1"}]}]}`)},
	{"a list of groups that was cut off", onApis(`{"kind":"APIGroupList","apiVersion":"v1","groups":[` +
		`{"name":"apps","versions":[{"groupVersion":"apps/v1","vers`)},
	{"a list that has the group, and a 404 below it", onApis(`{"kind":"APIGroupList","apiVersion":"v1","groups":[` +
		`{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},` +
		`{"name":"shop.example.com","versions":[{"groupVersion":"shop.example.com/v1","version":"v1"}]}]}`)},
	{"another version's resources", but404("application/json", `{"kind":"APIResourceList","groupVersion":"apps/v1",`+
		`"resources":[{"name":"deployments","kind":"Deployment","namespaced":true,"verbs":["list"]}]}`)},
	{"a version without resources", func(r *http.Request) *http.Response {
		version := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
		return but404("application/json", `{"kind":"APIResourceList","groupVersion":"`+version+`","resources":[]}`)(r)
	}},
	{"a replica that doesn't know the group yet", onApis(withoutShop)},
}

const withoutShop = `{"kind":"APIGroupList","apiVersion":"v1","groups":[` +
	`{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]}]}`

// but404 answers discovery with this, and everything else with 404.
func but404(contentType, body string) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		if isDiscovery(r.URL.Path) {
			return says(http.StatusOK, contentType, body)
		}
		return plain404()
	}
}

// onApis answers /apis with this, and everything else with 404.
func onApis(body string) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		if r.URL.Path == "/apis" {
			return says(http.StatusOK, "application/json", body)
		}
		return plain404()
	}
}

// A controller that cleans up behind deleted objects would wipe everything. It's what a load balancer without a
// backend says.
func TestWhatAProxyAnswersDeletesNoObject(t *testing.T) {
	for _, streams := range []bool{true, false} {
		for _, fault := range hostile {
			for _, lasts := range []time.Duration{8 * time.Second, time.Minute, 10 * time.Minute} {
				if strings.HasPrefix(fault.name, "a replica") && lasts > time.Minute {
					continue // a server that says so for ten minutes is right
				}
				options := cache.Options{DefaultEnableWatchBookmarks: &streams}
				behindProxy(t, options, func(t *testing.T, w *world, p *proxy) {
					survives(t, w, p, fault.name, fault.answer, lasts)
				})
			}
		}
	}
}

func survives(t *testing.T, w *world, p *proxy, name string, answer func(*http.Request) *http.Response, lasts time.Duration) {
	w.configMaps("default", "a")
	w.widget("default", "b", nil)
	w.begin()
	defer w.end()
	kinds := []client.Object{&corev1.ConfigMap{}, freeOf(widgetKind), metadataOf(widgetKind)}
	hears := newHearing()
	for _, kind := range kinds {
		from, err := w.GetInformer(t.Context(), kind)
		require.NoError(t, err)
		_, err = from.AddEventHandler(hears)
		require.NoError(t, err)
	}
	synctest.Wait()
	before := hears.sorted()
	require.Len(t, before, 3)
	read := func(when string) {
		require.NoError(t, w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}), "%s, %s", name, when)
		require.NoError(t, w.Get(t.Context(), key("default", "b"), freeOf(widgetKind)), "%s, %s", name, when)
		require.NoError(t, w.Get(t.Context(), key("default", "b"), metadataOf(widgetKind)), "%s, %s", name, when)
	}
	p.turn(answer)
	for began := time.Now(); time.Since(began) < lasts; time.Sleep(lasts / 16) {
		read("while it lasts")
	}
	require.Equal(t, before, hears.sorted(), "%s for %s: a handler was told something", name, lasts)
	p.turn(nil)
	time.Sleep(2 * time.Minute)
	read("afterwards")
	w.configMaps("default", "c")
	w.widget("default", "d", nil)
	synctest.Wait()
	require.Len(t, hears.all(), 6, "%s for %s: what's new is told, and nothing else: %v", name, lasts, hears.all())
	require.NoError(t, cache.CheckHealth(w.Cache, time.Minute))
}

// Somebody has to find out which of the boxes on the way has answered, and since when the objects are old.
func TestACacheThatIsStaleSaysSinceWhenAndWhatHasAnswered(t *testing.T) {
	var log logtest.Collected
	behindProxy(t, cache.Options{Logger: new(log.Logger(0))}, func(t *testing.T, w *world, p *proxy) {
		w.widget("default", "b", nil)
		w.begin()
		defer w.end()
		require.NoError(t, w.List(t.Context(), freeListOf(widgetKind)))
		time.Sleep(time.Hour)
		w.widget("default", "c", nil) // so that the last contact is now, and not at the last bookmark
		synctest.Wait()
		since := time.Now()
		p.turn(but404("text/html", "<html><title>Log in at corp</title>\n<body>"))
		time.Sleep(5 * time.Minute)
		err := cache.CheckHealth(w.Cache, time.Minute)
		for _, part := range []string{
			"out of touch with the API server for 5m", "404 page not found",
			"200", "text/html", "Log in at corp", "keeps its objects", since.Add(time.Second).Format("15:04:"),
		} {
			require.ErrorContains(t, err, part)
		}
		require.NotContains(t, err.Error(), "<body>", "the first line is enough")
		require.False(t, apierrors.IsNotFound(err))
		require.Len(t, log.With("An informer cannot read", "Log in at corp"), 2, "once for the watch and once for the list, and not with every try")
		require.Empty(t, log.With("A kind was removed"))
	})
}

// The server lost the kind while nobody was watching. Nothing else ever tells a controller to clean up.
func TestAKindThatWasReallyRemovedIsReportedEvenIfItsObjectsNeverWere(t *testing.T) {
	for _, streams := range []bool{true, false} {
		options := cache.Options{DefaultEnableWatchBookmarks: &streams}
		behindProxy(t, options, func(t *testing.T, w *world, p *proxy) {
			w.widget("default", "b", nil)
			w.begin()
			defer w.end()
			from, err := w.GetInformer(t.Context(), freeOf(widgetKind))
			require.NoError(t, err)
			hears := newHearing()
			_, err = from.AddEventHandler(hears)
			require.NoError(t, err)
			p.turn(func(*http.Request) *http.Response { return says(http.StatusBadGateway, "text/html", "<html>502") })
			w.server.Unregister(widgets)
			time.Sleep(10 * time.Minute)
			require.NoError(t, w.Get(t.Context(), key("default", "b"), freeOf(widgetKind)))

			p.turn(nil)
			var gone *cache.KindGoneError
			w.within(3*time.Minute, func() bool {
				return errors.As(w.Get(t.Context(), key("default", "b"), freeOf(widgetKind)), &gone)
			})
			time.Sleep(time.Minute)
			require.Equal(t, []string{
				"initial *unstructured.Unstructured default/b", "lost default/b *unstructured.Unstructured default/b",
			}, hears.all())
			w.server.Register(widgetHere)
			w.widget("default", "c", nil)
			w.within(10*time.Second, func() bool {
				return w.Get(t.Context(), key("default", "c"), freeOf(widgetKind)) == nil
			})
		})
	}
}

// A program that waits for its kind must not give up, or go on without it, because of what a proxy says.
func TestAWaitForAKindOutlivesAProxy(t *testing.T) {
	for _, fault := range hostile {
		behindProxy(t, cache.Options{}, func(t *testing.T, w *world, p *proxy) {
			p.turn(fault.answer)
			ended := make(chan error, 1) // from the goroutine, once
			go func() { ended <- w.Cache.(cache.KindWaiter).WaitForKind(t.Context(), widgetKind) }()
			time.Sleep(10 * time.Minute)
			require.Empty(t, ended, fault.name)
			p.turn(nil)
			select {
			case err := <-ended:
				require.NoError(t, err, fault.name)
			case <-time.After(time.Minute):
				require.Fail(t, "the wait goes on", fault.name)
			}
		})
	}
}
