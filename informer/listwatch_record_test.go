package informer

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

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
			[]trace.Event{{Kind: trace.Error, Version: "4", Reason: "listing pods in namespace shop: decoding the answer: unexpected EOF"}}},
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
		{"a watch that broke", `{"type":`, true,
			[]trace.Event{{Kind: trace.WatchStart, Version: "4"}, {Kind: trace.WatchEnd, Version: "4", Reason: "unexpected EOF"}}},
	} {
		recorder := trace.New(0)
		pods, err := NewListWatch[*corev1.Pod](&rest.Config{Host: "http://prepared", Transport: answers{jsonType, strings.NewReader(c.answer)}}, podResource,
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
			got = append(got, trace.Event{Kind: e.Kind, Op: e.Op, Name: e.Name, Version: e.Version, Count: e.Count, Reason: e.Reason})
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
			require.Error(t, err, c.name)
			events := listWatch.options.Recorder.Events()
			require.Len(t, events, 1, c.name)
			got := events[0]
			require.Equal(t, []any{c.want, "listwatch", "Pod", "default", "4", err.Error()},
				[]any{got.Kind, got.Layer, got.Object, got.Namespace, got.Version, got.Reason}, c.name)
		}
	}
}
