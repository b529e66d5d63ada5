package mini_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

var (
	listsOfMaps   = fakeapi.Match{Verb: "list", Resource: "configmaps"}
	watchesOfMaps = fakeapi.Match{Verb: "watch", Resource: "configmaps"}
)

// configMap returns one in the namespace default, with a value.
func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Data:       map[string]string{"value": value},
	}
}

// createMap creates a ConfigMap, as another process does.
func (w *world) createMap(name, value string) *corev1.ConfigMap {
	w.Helper()
	got, err := w.Other.CoreV1().ConfigMaps("default").
		Create(w.ctx, configMap(name, value), metav1.CreateOptions{})
	require.NoError(w, err)
	return got
}

// updateMap gives a ConfigMap another value.
func (w *world) updateMap(name, value string) *corev1.ConfigMap {
	w.Helper()
	got, err := w.Other.CoreV1().ConfigMaps("default").
		Update(w.ctx, configMap(name, value), metav1.UpdateOptions{})
	require.NoError(w, err)
	return got
}

// deleteMap deletes a ConfigMap.
func (w *world) deleteMap(name string) {
	w.Helper()
	err := w.Other.CoreV1().ConfigMaps("default").
		Delete(w.ctx, name, metav1.DeleteOptions{})
	require.NoError(w, err)
}

// loadMaps stores many ConfigMaps quickly.
func (w *world) loadMaps(n int) {
	w.Helper()
	for i := range n {
		_, err := w.Server.Load(corev1.SchemeGroupVersion.WithResource("configmaps"),
			configMap(fmt.Sprintf("map-%04d", i), ""))
		require.NoError(w, err)
	}
}

// maps lists and watches the ConfigMaps of all namespaces.
func (w *world) maps() *mini.ListWatch {
	w.Helper()
	lw, err := w.Cluster.ListWatch(&corev1.ConfigMap{}, "")
	require.NoError(w, err)
	return lw
}

// nameAndValue is what most tests want to know of a ConfigMap: "name=value".
func nameAndValue(obj mini.Object) string {
	return obj.GetName() + "=" + obj.(*corev1.ConfigMap).Data["value"]
}

func namesAndValues(objs []mini.Object) []string {
	all := []string{}
	for _, obj := range objs {
		all = append(all, nameAndValue(obj))
	}
	return all
}

// following is a watch that a goroutine follows.
type following struct {
	watch.Interface
	events []string // "ADDED name=value" or "BOOKMARK"; read them after synctest.Wait
	last   string   // like err: after the end
	err    error
	ended  chan struct{}
}

func follow(stream watch.Interface, version string) *following {
	f := &following{Interface: stream, ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		f.last, f.err = mini.Follow(stream, version, func(e watch.EventType, obj mini.Object) {
			line := string(e)
			if e != watch.Bookmark {
				line += " " + nameAndValue(obj)
			}
			f.events = append(f.events, line)
		})
	}()
	return f
}

// follow watches ConfigMaps from a version.
func (w *world) follow(lw *mini.ListWatch, version string) *following {
	w.Helper()
	stream, err := lw.Watch(w.ctx, version)
	require.NoError(w, err)
	return follow(stream, version)
}

// end stops the watch and waits for Follow.
func (f *following) end() {
	f.Stop()
	<-f.ended
}

// A controller that misses an object never reconciles it.
//
// Function: ListWatch.List
func TestAListHasAllObjects(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.createMap("b", "2")
		w.updateMap("a", "3")
		items, version, err := w.maps().List(w.ctx)
		require.NoError(w, err)
		require.Equal(w, []string{"a=3", "b=2"}, namesAndValues(items))
		require.NotEmpty(w, version, "without the list's version, no watch can start from it")
	})
}

// Without the list's version, you don't know where the watch has to start.
//
// Function: ListWatch.List
func TestEvenAnEmptyListHasAVersion(t *testing.T) {
	inMemory(t, func(w *world) {
		items, version, err := w.maps().List(w.ctx)
		require.NoError(w, err)
		require.Empty(w, items)
		require.NotEmpty(w, version)
	})
}

func TestAWatchShowsExactlyWhatCameAfterItsVersion(t *testing.T) {
	inMemory(t, func(w *world) {
		lw := w.maps()
		w.createMap("a", "1")
		w.createMap("b", "1")
		_, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		w.updateMap("a", "2") // before the watch starts
		f := w.follow(lw, version)
		synctest.Wait()
		w.createMap("c", "1")
		w.deleteMap("b")
		synctest.Wait()
		require.Equal(w, []string{"MODIFIED a=2", "ADDED c=1", "DELETED b=1"}, f.events,
			"the watch must not repeat the list, and must not lose what came after it")
		f.end()
	})
}

// Function: Follow
func TestFollowReturnsTheVersionFromWhichTheNextWatchGoesOn(t *testing.T) {
	inMemory(t, func(w *world) {
		lw := w.maps()
		_, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		f := w.follow(lw, version)
		w.createMap("a", "1")
		last := w.createMap("b", "1").ResourceVersion
		synctest.Wait()
		f.end()
		require.Equal(w, last, f.last)

		w.createMap("c", "1")
		f = w.follow(lw, f.last)
		synctest.Wait()
		require.Equal(w, []string{"ADDED c=1"}, f.events)
		f.end()
	})
}

// Function: Follow
func TestFollowReturnsTheVersionThatItWasGivenIfNothingCame(t *testing.T) {
	stream := watch.NewFake()
	stream.Stop()
	f := follow(stream, "17")
	<-f.ended
	require.NoError(t, f.err)
	require.Equal(t, "17", f.last)
}

func TestAQuietWatchMovesOnWithBookmarks(t *testing.T) {
	inMemory(t, func(w *world) {
		lw := w.maps()
		_, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		f := w.follow(lw, version)
		_, err = w.Other.CoreV1().Secrets("default").Create(w.ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "of-another-kind"},
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		require.Equal(w, []string{"BOOKMARK"}, f.events,
			"after a minute the server says how far the watch has come")
		f.end()
		require.Equal(w, strconv.FormatUint(w.Server.ResourceVersion(), 10), f.last,
			"the next watch must not start from a version that the server may have forgotten")
	})
}

// The caller has seen every event before the error. If the version is lost, it must list
// everything again; if it's too old, it gets events twice.
func TestAnErrorInTheStreamKeepsTheVersionThatWasReached(t *testing.T) {
	a := configMap("a", "1")
	a.ResourceVersion = "18"
	stream := watch.NewFakeWithChanSize(3, false)
	stream.Add(a)
	stream.Error(fakeapi.InternalError())
	stream.Add(configMap("after-the-end", ""))
	f := follow(stream, "17")
	<-f.ended
	require.Error(t, f.err)
	require.False(t, mini.IsExpired(f.err))
	require.Equal(t, "18", f.last)
	require.Equal(t, []string{"ADDED a=1"}, f.events)
}

func TestAnExpiredVersionIsReportedByTheStream(t *testing.T) {
	stream := watch.NewFakeWithChanSize(1, false)
	stream.Error(fakeapi.Expired())
	f := follow(stream, "17")
	<-f.ended
	require.True(t, mini.IsExpired(f.err), "only a new list helps: %v", f.err)
	require.Equal(t, "17", f.last)
}

// Function: IsExpired
func TestAnExpiredVersionIsReportedInsteadOfAStream(t *testing.T) {
	gone := &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonGone,
	}
	for _, status := range []*metav1.Status{fakeapi.Expired(), gone} {
		inMemory(t, func(w *world) {
			w.Server.Inject(fakeapi.Fault{Match: watchesOfMaps, Status: status})
			_, err := w.maps().Watch(w.ctx, "1")
			require.True(w, mini.IsExpired(err), "only a new list helps: %v", err)
		})
	}
}

func TestAVersionThatTheServerHasForgottenIsExpired(t *testing.T) {
	inMemory(t, func(w *world) {
		lw := w.maps()
		_, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		w.createMap("a", "1")
		w.Server.CompactAll()
		stream, err := lw.Watch(w.ctx, version)
		if err == nil { // the server may answer 200, and then send 410 as an event
			_, err = mini.Follow(stream, version, func(watch.EventType, mini.Object) {})
			stream.Stop()
		}
		require.True(w, mini.IsExpired(err), "only a new list helps: %v", err)
	})
}

// A proxy or an extension may say 410, and give a reason of its own, or none.
//
// Function: IsExpired
func TestA410IsExpiredWhateverItsReason(t *testing.T) {
	for _, reason := range []metav1.StatusReason{"", "Compacted"} {
		status := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: reason}
		require.True(t, mini.IsExpired(&apierrors.StatusError{ErrStatus: *status}), "a 410 with the reason %q", reason)
		stream := watch.NewFakeWithChanSize(1, false)
		stream.Error(status)
		f := follow(stream, "17")
		<-f.ended
		require.True(t, mini.IsExpired(f.err), "a 410 with the reason %q, as an event: %v", reason, f.err)
	}
}

// Function: IsExpired
func TestOtherErrorsNeedNoNewList(t *testing.T) {
	require.False(t, mini.IsExpired(nil))
	for _, status := range []*metav1.Status{
		fakeapi.Forbidden(), fakeapi.InternalError(), fakeapi.Unavailable(),
	} {
		inMemory(t, func(w *world) {
			w.Server.Inject(fakeapi.Fault{Match: watchesOfMaps, Status: status})
			_, err := w.maps().Watch(w.ctx, "1")
			require.Error(w, err)
			require.False(w, mini.IsExpired(err), "a new list would not help: %v", err)
		})
	}
}

// Function: Follow
func TestAnEventWithoutMetadataIsAnError(t *testing.T) {
	stream := watch.NewFakeWithChanSize(1, false)
	stream.Add(&metav1.Status{})
	f := follow(stream, "17")
	<-f.ended
	require.Error(t, f.err)
	require.Equal(t, "17", f.last)
}

// A client can't tell a quiet server from a dead one. So it asks the server to end each
// watch, but not all watches at the same time.
//
// Function: ListWatch.Watch
func TestTheServerEndsAWatchAfterSomeMinutes(t *testing.T) {
	inMemory(t, func(w *world) {
		lw := w.maps()
		_, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		lasted := map[time.Duration]bool{}
		for range 5 {
			began := time.Now()
			f := w.follow(lw, version)
			select {
			case <-f.ended:
				require.NoError(w, f.err)
			case <-time.After(10 * time.Minute):
				w.Fatal("the watch would last forever")
			}
			lasted[time.Since(began)] = true
			require.GreaterOrEqual(w, time.Since(began), 5*time.Minute)
		}
		require.Greater(w, len(lasted), 1, "they end together")
	})
}

// Function: ListWatch.Watch
func TestAWatchEndsWithItsContext(t *testing.T) {
	inMemory(t, func(w *world) {
		lw := w.maps()
		_, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		f := w.follow(lw, version)
		synctest.Wait()
		began := time.Now()
		w.stop()
		<-f.ended
		require.Zero(w, time.Since(began), "the stream goes on until the server ends it")
	})
}

// The API server sends a long list in pages. If you read only the first, you believe that
// the rest was deleted.
func TestALongListComesInPagesAndHasEveryObjectOnce(t *testing.T) {
	inMemory(t, func(w *world) {
		w.loadMaps(1001)
		items, _, err := w.maps().List(w.ctx)
		require.NoError(w, err)
		require.Len(w, items, 1001)
		for i, obj := range items {
			require.Equal(w, fmt.Sprintf("map-%04d", i), obj.GetName())
		}
		requests := w.Server.Requests(listsOfMaps)
		require.Len(w, requests, 3, "500 objects a page")
		for _, r := range requests {
			require.Equal(w, "500", r.Query.Get("limit"))
		}
	})
}

// Function: ListWatch.List
func TestAllPagesShowTheMomentOfTheListsVersion(t *testing.T) {
	inMemory(t, func(w *world) {
		w.loadMaps(501)
		w.Server.Inject(fakeapi.Fault{Match: listsOfMaps, Skip: 1, Delay: 2 * time.Second})
		w.running.Go(func() {
			time.Sleep(time.Second) // between the pages
			w.deleteMap("map-0500")
			w.createMap("map-0501", "new")
		})
		lw := w.maps()
		items, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		require.Len(w, items, 501)
		require.Equal(w, "map-0500", items[500].GetName(), "it existed when the list began")
		f := w.follow(lw, version)
		synctest.Wait()
		require.Equal(w, []string{"DELETED map-0500=", "ADDED map-0501=new"}, f.events)
		f.end()
	})
}

// Function: ListWatch.List
func TestAListThatFailsReturnsNothing(t *testing.T) {
	for page := range 2 {
		inMemory(t, func(w *world) {
			w.loadMaps(501)
			w.Server.Inject(fakeapi.Fault{
				Match: listsOfMaps, Skip: page, Status: fakeapi.Expired(),
			})
			items, version, err := w.maps().List(w.ctx)
			require.True(w, mini.IsExpired(err), "the cause must be found in the error: %v", err)
			require.Empty(w, items, "half a list looks like a cluster that has lost objects")
			require.Empty(w, version)
		})
	}
}

// Function: Cluster.ListWatch
func TestAListMayBeOfOneNamespace(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		elsewhere := configMap("b", "1")
		elsewhere.Namespace = "kube-system"
		_, err := w.Other.CoreV1().ConfigMaps("kube-system").
			Create(w.ctx, elsewhere, metav1.CreateOptions{})
		require.NoError(w, err)

		lw, err := w.Cluster.ListWatch(&corev1.ConfigMap{}, "kube-system")
		require.NoError(w, err)
		items, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		require.Equal(w, []string{"b=1"}, namesAndValues(items))
		f := w.follow(lw, version)
		w.updateMap("a", "2")
		elsewhere.Data["value"] = "2"
		_, err = w.Other.CoreV1().ConfigMaps("kube-system").
			Update(w.ctx, elsewhere, metav1.UpdateOptions{})
		require.NoError(w, err)
		synctest.Wait()
		require.Equal(w, []string{"MODIFIED b=2"}, f.events)
		f.end()
	})
}

// Widget is a custom resource.
type Widget struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct{ Color string } `json:"spec"`
}

type WidgetList struct {
	metav1.TypeMeta
	metav1.ListMeta `json:"metadata"`
	Items           []Widget `json:"items"`
}

func (w *Widget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (l *WidgetList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = nil
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*Widget))
	}
	return &c
}

var widgets = schema.GroupVersion{Group: "example.com", Version: "v1"}

func TestACustomResourceIsListedAndWatchedLikeAnyOther(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Register(fakeapi.Kind{Group: "example.com", Version: "v1", Kind: "Widget"})
		types := runtime.NewScheme()
		types.AddKnownTypes(widgets, &Widget{}, &WidgetList{})
		metav1.AddToGroupVersion(types, widgets)
		cluster, err := mini.NewCluster(w.Server.Config(), types)
		require.NoError(w, err)
		lw, err := cluster.ListWatch(&Widget{}, "default")
		require.NoError(w, err)
		require.Equal(w, widgets.WithKind("Widget"), lw.Kind)

		add := func(name, color string) {
			widget := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
			widget.APIVersion, widget.Kind = "example.com/v1", "Widget"
			widget.Spec.Color = color
			_, err := w.Server.Load(widgets.WithResource("widgets"), widget)
			require.NoError(w, err)
		}
		add("a", "red")
		items, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		require.Len(w, items, 1)
		require.Equal(w, "red", items[0].(*Widget).Spec.Color)

		stream, err := lw.Watch(w.ctx, version)
		require.NoError(w, err)
		path := "/apis/example.com/v1/namespaces/default/widgets/a"
		client, err := rest.HTTPClientFor(w.Server.Config())
		require.NoError(w, err)
		url := w.Server.Config().Host + path
		req, err := http.NewRequestWithContext(w.ctx, http.MethodDelete, url, nil)
		require.NoError(w, err)
		answer, err := client.Do(req)
		require.NoError(w, err)
		require.NoError(w, answer.Body.Close())
		event := <-stream.ResultChan()
		require.Equal(w, watch.Deleted, event.Type)
		require.Equal(w, "red", event.Object.(*Widget).Spec.Color)
		stream.Stop()
	})
}

// The guess is "gatewaies", which isn't served: so a user must be able to correct it.
func TestAPluralThatCannotBeGuessedCanBeGiven(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Register(fakeapi.Kind{
			Group: "example.com", Version: "v1", Kind: "Gateway", Resource: "gateways",
		})
		types := runtime.NewScheme()
		types.AddKnownTypeWithName(widgets.WithKind("Gateway"), &Widget{})
		types.AddKnownTypeWithName(widgets.WithKind("GatewayList"), &WidgetList{})
		metav1.AddToGroupVersion(types, widgets)
		cluster, err := mini.NewCluster(w.Server.Config(), types)
		require.NoError(w, err)
		lw, err := cluster.ListWatch(&Widget{}, "default")
		require.NoError(w, err)
		_, _, err = lw.List(w.ctx)
		require.Error(w, err, "a wrong guess must be an error, not an empty list")
		cluster.Plurals = map[schema.GroupKind]string{
			{Group: "example.com", Kind: "Gateway"}: "gateways",
		}
		_, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		stream, err := lw.Watch(w.ctx, version)
		require.NoError(w, err)
		stream.Stop()
	})
}

// Function: Cluster.ListWatch
func TestATypeThatIsNotInTheSchemeIsRefused(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := w.Cluster.KindOf(&Widget{})
		require.ErrorContains(w, err, "Widget", "the error must say which type is missing")
		lw, err := w.Cluster.ListWatch(&Widget{}, "")
		require.Error(w, err)
		require.Nil(w, lw)
	})
}

// Function: Cluster.ListWatch
func TestRequestsGoWhereTheAPIServerExpectsThem(t *testing.T) {
	inMemory(t, func(w *world) {
		for _, c := range []struct {
			like            string
			namespace, path string
		}{
			{"v1 ConfigMap", "", "/api/v1/configmaps"},
			{"v1 ConfigMap", "default", "/api/v1/namespaces/default/configmaps"},
			{"v1 Namespace", "", "/api/v1/namespaces"},
			{"v1 Endpoints", "", "/api/v1/endpoints"},
			{"apps/v1 ReplicaSet", "default", "/apis/apps/v1/namespaces/default/replicasets"},
			{"discovery.k8s.io/v1 EndpointSlice", "", "/apis/discovery.k8s.io/v1/endpointslices"},
		} {
			var version, kind string
			_, err := fmt.Sscan(c.like, &version, &kind)
			require.NoError(w, err)
			gvk := schema.FromAPIVersionAndKind(version, kind)
			obj, err := scheme.Scheme.New(gvk)
			require.NoError(w, err)
			lw, err := w.Cluster.ListWatch(obj.(mini.Object), c.namespace)
			require.NoError(w, err)
			require.Equal(w, gvk, lw.Kind)
			w.Server.ForgetRequests()
			_, _, err = lw.List(w.ctx)
			require.NoError(w, err)
			requests := w.Server.Requests(fakeapi.Match{})
			require.Len(w, requests, 1)
			require.Equal(w, c.path, requests[0].Path)
		}
	})
}

func TestAConnectionServesManyGoroutines(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				like := []mini.Object{&corev1.ConfigMap{}, &corev1.Pod{}}[i%2]
				lw, err := w.Cluster.ListWatch(like, "")
				if err == nil {
					_, _, err = lw.List(w.ctx)
				}
				if err != nil {
					w.Errorf("listing %T: %v", like, err)
				}
			})
		}
		all.Wait()
	})
}

func TestRequestsAreNotHeldBackByTheClient(t *testing.T) {
	inMemory(t, func(w *world) {
		config := w.Server.Config()
		config.QPS = 0 // as usual
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		require.NoError(w, err)
		lw, err := cluster.ListWatch(&corev1.ConfigMap{}, "")
		require.NoError(w, err)
		began := time.Now()
		for range 100 {
			_, _, err := lw.List(w.ctx)
			require.NoError(w, err)
		}
		require.Zero(w, time.Since(began), "client-go would allow 5 requests a second")
	})
}

func TestNewClusterLeavesTheConfigurationAsItIs(t *testing.T) {
	inMemory(t, func(w *world) {
		config := w.Server.Config()
		config.QPS = 17
		before := rest.CopyConfig(config).String()
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		require.NoError(w, err)
		lw, err := cluster.ListWatch(&corev1.ConfigMap{}, "")
		require.NoError(w, err)
		_, _, err = lw.List(w.ctx)
		require.NoError(w, err)
		require.Equal(w, before, config.String(), "other clients may be made from it")
	})
}

func TestARequestThatCannotBeSentIsAnError(t *testing.T) {
	cluster, err := mini.NewCluster(&rest.Config{Host: "http://no host"}, scheme.Scheme)
	if err != nil {
		return // it may as well be found at once
	}
	lw, err := cluster.ListWatch(&corev1.ConfigMap{}, "")
	require.NoError(t, err)
	_, _, err = lw.List(t.Context())
	require.Error(t, err)
	_, err = lw.Watch(t.Context(), "1")
	require.Error(t, err)
}

// answering is a proxy that answers every request itself.
type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(a))),
	}, nil
}

// Function: ListWatch.page
func TestAnAnswerThatIsNotAListIsAnError(t *testing.T) {
	for _, answer := range []string{
		`{"apiVersion": "v1", "kind": "ConfigMap"}`, `{}`, `<p>Please log in.</p>`,
		`{"apiVersion": "v1", "kind": "Status", "status": "Success"}`,
	} {
		cluster, err := mini.NewCluster(
			&rest.Config{Host: "proxy", Transport: answering(answer)}, scheme.Scheme)
		require.NoError(t, err)
		lw, err := cluster.ListWatch(&corev1.ConfigMap{}, "")
		require.NoError(t, err)
		items, _, err := lw.List(t.Context())
		require.Error(t, err, "an empty list would look like a cluster without objects")
		require.Empty(t, items)
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	_, err := mini.NewCluster(&rest.Config{
		Host:            "https://localhost",
		TLSClientConfig: rest.TLSClientConfig{CAFile: "does/not/exist"},
	}, scheme.Scheme)
	require.Error(t, err)
}

// If each of forty pages takes a second, the list takes forty. The recorder shows why a controller starts so late.
//
// Function: ListWatch.List
func TestTheTimeOfAListIsThatOfAllItsPages(t *testing.T) {
	inMemory(t, func(w *world) {
		w.loadMaps(501)
		w.Server.Inject(fakeapi.Fault{Match: listsOfMaps, Delay: time.Second})
		_, _, err := w.maps().List(w.ctx)
		require.NoError(w, err)
		events := w.Cluster.Trace.Events()
		require.Len(w, events, 1, "two pages are one list")
		require.Equal(w, 2*time.Second, events[0].Took)
	})
}

func TestTheFlightRecorderShowsListsAndWatches(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		lw := w.maps()
		w.Server.Inject(fakeapi.Fault{Match: listsOfMaps, Delay: time.Second})
		_, version, err := lw.List(w.ctx)
		require.NoError(w, err)
		w.follow(lw, version).end()
		w.Server.Inject(fakeapi.Fault{Match: watchesOfMaps, Status: fakeapi.Forbidden()})
		_, err = lw.Watch(w.ctx, version) // it does not start
		require.Error(w, err)
		events := w.Cluster.Trace.Events()
		require.Len(w, events, 2)
		for i, want := range []trace.Event{
			{Kind: trace.List, Count: 1, Took: time.Second},
			{Kind: trace.WatchStart},
		} {
			got := events[i]
			require.Equal(w, want.Kind, got.Kind)
			require.Equal(w, "ConfigMap", got.Object)
			require.Equal(w, version, got.Version)
			require.Equal(w, want.Count, got.Count)
			require.Equal(w, want.Took, got.Took)
			require.NotEmpty(w, got.Layer)
		}
	})
}
