package informer

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// The timeline is what somebody reads at night to find out what a program saw. Each
// request and each event must be in it, with its place in the history.
func TestTheRecorderKnowsWhatEachRequestBrought(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		watch        bool
		want         []trace.Event
	}{
		{"a list", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`, false,
			[]trace.Event{{Kind: trace.List, Version: "7", Count: 2}}},
		{"a list that failed", `{`, false,
			[]trace.Event{{Kind: trace.Error, Version: "4",
				Reason: "listing pods in namespace shop: decoding the answer: unexpected EOF"}}},
		{"a watch", `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","resourceVersion":"5"}}}` +
			`{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"6"}}}` +
			`{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop"}}}`, true,
			[]trace.Event{
				{Kind: trace.WatchStart, Version: "4"},
				{Kind: trace.WatchEvent, Op: "ADDED", Name: "a", Version: "5"},
				{Kind: trace.Bookmark, Version: "6"},
				{Kind: trace.WatchEvent, Op: "MODIFIED", Name: "a"},
				{Kind: trace.WatchEnd, Version: "6", Reason: "by the server, in good order"},
			}},
		{"a watch that expired", `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"5"}}}` +
			`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old","reason":"Expired","code":410}}`, true,
			[]trace.Event{
				{Kind: trace.WatchStart, Version: "4"},
				{Kind: trace.WatchEvent, Op: "ADDED", Name: "a", Version: "5"},
				{Kind: trace.Expired, Version: "5", Reason: "too old"},
				{Kind: trace.WatchEnd, Version: "5", Reason: "by the server, in good order"},
			}},
		{"objects that are being deleted", `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"5",` +
			`"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["example.com/bucket"]}}}` +
			`{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b","resourceVersion":"6","finalizers":["example.com/bucket"]}}}` +
			`{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7",` +
			`"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["example.com/bucket"]}}}`, true,
			[]trace.Event{
				{Kind: trace.WatchStart, Version: "4"},
				{Kind: trace.WatchEvent, Op: "MODIFIED", Name: "a", Version: "5", Reason: "example.com/bucket"},
				{Kind: trace.WatchEvent, Op: "MODIFIED", Name: "b", Version: "6"},
				{Kind: trace.WatchEvent, Op: "DELETED", Name: "a", Version: "7"},
				{Kind: trace.WatchEnd, Version: "7", Reason: "by the server, in good order"},
			}},
		{"a watch that broke", `{"type":`, true,
			[]trace.Event{{Kind: trace.WatchStart, Version: "4"}, {Kind: trace.WatchEnd, Version: "4",
				Reason: "unexpected EOF"}}},
	} {
		recorder := trace.New(0)
		pods, err := NewListWatch[*corev1.Pod](&rest.Config{Host: "http://prepared",
			Transport: answers{jsonType, strings.NewReader(c.answer)}}, podResource,
			ListWatchOptions{Namespace: "shop", Recorder: recorder})
		require.NoError(t, err)
		options := metav1.ListOptions{ResourceVersion: "4"}
		if c.watch {
			watching, err := pods.Watch(t.Context(), options)
			require.NoError(t, err)
			for err == nil {
				_, err = watching.Next()
			}
		} else {
			_, _ = pods.List(t.Context(), options)
		}
		var got []trace.Event
		for _, e := range recorder.Events() {
			require.Equal(t, "listwatch", e.Layer, c.name)
			require.Equal(t, "Pod", e.Object, c.name)
			require.Equal(t, "shop", e.Namespace, c.name)
			got = append(got, trace.Event{Kind: e.Kind, Op: e.Op, Name: e.Name, Version: e.Version,
				Count: e.Count, Reason: e.Reason})
		}
		require.Equal(t, c.want, got, c.name)
	}
}

// A refused request is in the timeline once, as what it is.
func TestTheRecorderKnowsWhyARequestWasRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		code int
		body string
		want trace.Kind
	}{
		{"410", http.StatusGone, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old","code":410}`, trace.Expired},
		{"403", http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`, trace.Error},
	} {
		for _, watching := range []bool{false, true} {
			listWatch := answer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.body)
			})
			listWatch.options.Recorder = trace.New(0)
			var err error
			if watching {
				_, err = listWatch.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "4"})
			} else {
				_, err = listWatch.List(t.Context(), metav1.ListOptions{ResourceVersion: "4"})
			}
			require.ErrorContains(t, err, map[bool]string{false: "listing",
				true: "watching"}[watching]+" pods in namespace default: ", c.name)
			events := listWatch.options.Recorder.Events()
			require.Len(t, events, 1, c.name)
			got := events[0]
			require.Equal(t, []any{c.want, "listwatch", "Pod", "default", "4", err.Error()},
				[]any{got.Kind, got.Layer, got.Object, got.Namespace, got.Version, got.Reason}, c.name)
		}
	}
}

// Of a watch of all namespaces, the timeline shows where each object is; and it shows whether a
// watch began with all there is.
func TestTheRecorderKnowsWhereAnObjectIs(t *testing.T) {
	recorder := trace.New(0)
	text := `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","resourceVersion":"5"}}}`
	pods, err := NewListWatch[*corev1.Pod](&rest.Config{Host: "http://prepared",
		Transport: answers{jsonType, strings.NewReader(text)}}, podResource,
		ListWatchOptions{Recorder: recorder})
	require.NoError(t, err)
	watching, err := pods.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(false)})
	require.NoError(t, err)
	_, err = watching.Next()
	require.NoError(t, err)
	events := recorder.Events()
	require.Equal(t, []string{"", "shop"}, []string{events[0].Namespace, events[1].Namespace})
	require.Empty(t, events[0].Op, "this watch is no stream")
}

// A list that takes long is the first thing to look for when a program starts slowly.
func TestTheRecorderKnowsHowLongAListTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fakeapi.Fault{Delay: 3 * time.Second})
		recorder := trace.New(0)
		_, err := newWorld(t, server.Config(), metav1.NamespaceDefault).listWatch(t,
			ListWatchOptions{Recorder: recorder}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, recorder.Events()[0].Took)
	})
}

// nameless is a ListerWatcher that somebody has written; it does not say what it reads.
type nameless[T Object] struct{ ListerWatcher[T] }

// An error and a timeline have to call a collection something.
func TestACollectionIsCalledByItsGoTypeIfItHasNoOtherName(t *testing.T) {
	require.Equal(t, "Pod", identify(ListerWatcher[*corev1.Pod](nameless[*corev1.Pod]{})).String())
	require.Equal(t, "Object", identify(ListerWatcher[Object](nameless[Object]{})).String())
	pods, err := NewListWatch[*corev1.Pod](&rest.Config{Host: "http://nobody"}, podResource,
		ListWatchOptions{Namespace: "shop"})
	require.NoError(t, err)
	require.Equal(t, readerIdentity{kind: "Pod", resource: podResource, namespace: "shop"},
		identify(ListerWatcher[*corev1.Pod](pods)))
	require.Equal(t, "deployments.apps", readerIdentity{kind: "Deployment",
		resource: appsv1.SchemeGroupVersion.WithResource("deployments")}.String())
}
