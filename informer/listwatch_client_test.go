package informer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// answer makes a server that says one thing, as proxies and broken servers do,
// and a ListWatch that asks it.
func answer(t *testing.T, handler http.HandlerFunc) *ListWatch[*corev1.Pod] {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	listWatch, err := NewListWatch[*corev1.Pod](&rest.Config{Host: server.URL},
		corev1.SchemeGroupVersion.WithResource("pods"), ListWatchOptions{Namespace: "default"})
	require.NoError(t, err)
	return listWatch
}

func TestTheRequestsAreThoseOfTheAPIConvention(t *testing.T) {
	for want, resource := range inorder.Map(map[string]schema.GroupVersionResource{
		"/prefix/api/v1/namespaces/shop/pods": {Version: "v1", Resource: "pods"},
		"/prefix/apis/apps/v1/namespaces/shop/deployments": {Group: "apps", Version: "v1",
			Resource: "deployments"},
	}) {
		url, err := collectionURL(&rest.Config{Host: "https://example.com/prefix"}, resource, "shop")
		require.NoError(t, err)
		require.Equal(t, "https://example.com"+want, url.String())
	}
	url, err := collectionURL(&rest.Config{Host: "example.com"},
		schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "")
	require.NoError(t, err)
	require.Equal(t, "http://example.com/api/v1/nodes", url.String())
}

func TestSelectorsAndOptionsGoIntoTheQuery(t *testing.T) {
	var asked *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`)
	}))
	defer server.Close()
	listWatch, err := NewListWatch[*corev1.Pod](&rest.Config{Host: server.URL},
		corev1.SchemeGroupVersion.WithResource("pods"),
		ListWatchOptions{LabelSelector: "app=web", FieldSelector: "spec.nodeName=node-1"})
	require.NoError(t, err)
	list, err := listWatch.List(t.Context(), metav1.ListOptions{Limit: 500, ResourceVersion: "3",
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	require.NoError(t, err)
	require.Equal(t, "7", list.ResourceVersion)
	require.Empty(t, list.Items)
	require.Equal(t, "/api/v1/pods", asked.URL.Path)
	require.Equal(t, "fieldSelector=spec.nodeName%3Dnode-1&labelSelector=app%3Dweb&limit=500&resourceVersion=3&resourceVersionMatch=NotOlderThan", asked.URL.RawQuery)
	require.Equal(t, "application/vnd.kubernetes.protobuf,application/json",
		asked.Header.Get("Accept"))
	require.NotEmpty(t, asked.UserAgent(),
		"by it, an API server's flow control and its operators know the client")
}

// A load balancer knows nothing of Status objects.
func TestAProxysErrorPageBecomesAnErrorWithItsCode(t *testing.T) {
	listWatch := answer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "<h1>no backend</h1>")
	})
	_, err := listWatch.List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	require.ErrorContains(t, err, "no backend")
}

func TestTheServersWishToWaitReachesTheCaller(t *testing.T) {
	for name, body := range inorder.Map(map[string]string{
		"from a server": `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`,
		"from a proxy":  `slow down`,
	}) {
		t.Run(name, func(t *testing.T) {
			listWatch := answer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, body)
			})
			_, err := listWatch.Watch(t.Context(), metav1.ListOptions{})
			require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
			seconds, said := apierrors.SuggestsClientDelay(err)
			require.True(t, said)
			require.Equal(t, 7, seconds)
		})
	}
}

// A connection that breaks in the middle of an event is not the good end of a watch.
// If it passed for one, nobody would notice that the network is broken.
func TestAStreamThatBreaksInTheMiddleIsNoGoodEnd(t *testing.T) {
	for name, stream := range inorder.Map(map[string]string{
		"half an event": `{"type":"ADDED","object":{"kind":"Pod","apiV`,
		"no JSON":       `<h1>gateway time-out</h1>`,
		"not an event":  `{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1"}}`,
	}) {
		t.Run(name, func(t *testing.T) {
			listWatch := answer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, stream)
			})
			watching, err := listWatch.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
			require.NoError(t, err)
			_, err = watching.Next()
			require.Error(t, err)
			require.NotEqual(t, io.EOF, err)
		})
	}
}

func TestAnAnswerThatCannotBeDecodedIsAnErrorThatNamesItsType(t *testing.T) {
	listWatch := answer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "hello")
	})
	_, err := listWatch.List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "text/plain")
	_, err = listWatch.Watch(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "text/plain")
}

func TestAServerThatIsNotThereIsAnErrorNotAHang(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	listWatch, err := NewListWatch[*corev1.Pod](&rest.Config{Host: server.URL},
		corev1.SchemeGroupVersion.WithResource("pods"), ListWatchOptions{})
	require.NoError(t, err)
	_, err = listWatch.List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "listing pods")
	require.ErrorContains(t, err, "refused")
}

// A client that a program has already often has a time limit, which is meant for requests
// that are answered at once. It includes the time in which the answer is read, and so
// would end every watch and many a long list.
func TestTheTimeLimitOfASharedClientEndsNoWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		client, err := rest.HTTPClientFor(server.Config())
		require.NoError(t, err)
		client.Timeout = time.Second
		w := newWorld(t, server.Config(), metav1.NamespaceDefault)
		watching, err := w.listWatch(t, ListWatchOptions{HTTPClient: client}).Watch(t.Context(),
			metav1.ListOptions{})
		require.NoError(t, err)
		defer func() { _ = watching.Close() }()
		time.Sleep(time.Minute)
		w.create(t, "late", nil)
		event, err := watching.Next()
		require.NoError(t, err)
		require.Equal(t, "late", event.Object.Name)
		require.Equal(t, time.Second, client.Timeout, "the client belongs to the caller")
	})
}

// Operators find the client that hammers a server by its name, and its flow control tells clients
// apart by it.
func TestAClientSaysWhoItIs(t *testing.T) {
	for _, name := range []string{"", "shop-controller/1.0"} {
		said := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			said = r.UserAgent()
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1"}`)
		}))
		config := &rest.Config{Host: server.URL, UserAgent: name, Timeout: time.Minute}
		listWatch, err := NewListWatch[*corev1.Pod](config, podResource, ListWatchOptions{})
		require.NoError(t, err)
		_, err = listWatch.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		server.Close()
		if name == "" {
			name = rest.DefaultKubernetesUserAgent()
			require.Empty(t, config.UserAgent, "the config belongs to the caller")
		}
		require.Equal(t, name, said)
		require.Zero(t, listWatch.client.http.Timeout, "a time limit would end every watch")
		require.Equal(t, time.Minute, config.Timeout, "the config belongs to the caller")
	}
}

// A client is given so that its connections are shared.
func TestASharedClientIsUsedAsItIs(t *testing.T) {
	client := &http.Client{}
	listWatch, err := NewListWatch[*corev1.Pod](&rest.Config{Host: "http://nobody"}, podResource,
		ListWatchOptions{HTTPClient: client})
	require.NoError(t, err)
	require.Same(t, client, listWatch.client.http)
}

// A client that comes back too early is refused again, and one that waits for a day is an outage.
func TestOnlyTheServerSaysHowLongToWait(t *testing.T) {
	for _, c := range []struct {
		name, header, body string
		want               int32 // 0 if nobody said so
	}{
		{"the Status says it", "7", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":3}}`, 3},
		{"only the header says it", "7",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"details":{"kind":"pods"}}`, 7},
		{"the header says one second", "1",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`,
			1},
		{"the header says more than a number holds", "99999999999",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`,
			1 << 20},
		{"the header is a date", "Wed, 21 Oct 2026 07:28:00 GMT",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"details":{"kind":"pods"}}`, 0},
		{"nobody says it", "", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`, 0},
	} {
		listWatch := answer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", c.header)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := listWatch.List(t.Context(), metav1.ListOptions{})
		var status apierrors.APIStatus
		require.ErrorAs(t, err, &status, c.name)
		details := status.Status().Details
		if c.want == 0 {
			require.True(t, details == nil || details.RetryAfterSeconds == 0, c.name)
			require.Equal(t, strings.Contains(c.body, "details"), details != nil,
				"%s: nothing is added to what the server says", c.name)
			continue
		}
		require.NotNil(t, details, c.name)
		require.Equal(t, c.want, details.RetryAfterSeconds, c.name)
		if strings.Contains(c.body, "pods") {
			require.Equal(t, "pods", details.Kind, "%s: what else the server says must not be lost", c.name)
		}
	}
}

// A proxy may answer with a page of any length. Its first line is worth showing; the
// rest must neither fill the memory nor the log.
func TestOfAProxysErrorPageTheFirstLineIsShown(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"several lines", "\n\n  upstream timed out\n<html>\n", `502, "upstream timed out"`},
		{"a success that is none", `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
			`502, "{\"kind\":\"Status\"`},
		{"something else", `{"kind":"Pod","apiVersion":"v1"}`, `502, "{\"kind\":\"Pod\"`},
		{"a page without an end", strings.Repeat("x", 3*maxRefusal), `502, "` + strings.Repeat("x",
			maxRefusal) + `"`},
	} {
		listWatch := answer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := listWatch.List(t.Context(), metav1.ListOptions{})
		require.ErrorContains(t, err, c.want, c.name)
		var status apierrors.APIStatus
		require.ErrorAs(t, err, &status, c.name)
		require.EqualValues(t, http.StatusBadGateway, status.Status().Code, c.name)
		require.True(t, apierrors.IsUnexpectedServerError(err), "%s: no API server says that", c.name)
	}
}

// Whoever ends a context says why; "context canceled" alone sends everybody looking.
func TestARequestThatItsContextEndedSaysWhy(t *testing.T) {
	reached := make(chan struct{})
	listWatch := answer(t, func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	})
	why := errors.New("the lease was lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-reached
		cancel(why)
	}()
	_, err := listWatch.List(ctx, metav1.ListOptions{})
	require.ErrorIs(t, err, why)
	require.EqualError(t, err, "listing pods in namespace default: the lease was lost")
}

func TestAConfigThatCannotWorkIsRefusedAtOnce(t *testing.T) {
	for _, config := range []*rest.Config{
		{Host: "http://not a host"},
		{Host: "https://server", TLSClientConfig: rest.TLSClientConfig{CAFile: "/there/is/no/such/file"}},
	} {
		_, err := NewListWatch[*corev1.Pod](config, podResource, ListWatchOptions{})
		require.ErrorContains(t, err, "making a ListWatch for pods", config.Host)
	}
}

// notes is a server of two pages that notes what it is asked.
type notes struct {
	ListerWatcher[*corev1.Pod]
	asked []metav1.ListOptions
}

func (n *notes) List(_ context.Context, options metav1.ListOptions) (*List[*corev1.Pod], error) {
	n.asked = append(n.asked, options)
	if options.Continue == "" {
		return &List[*corev1.Pod]{Continue: "more"}, nil
	}
	return &List[*corev1.Pod]{}, nil
}

// A token says which moment its page belongs to; a server refuses a request that says it twice.
func TestOnlyTheFirstPageIsAskedForByVersion(t *testing.T) {
	server := &notes{}
	for _, err := range Pages(t.Context(), ListerWatcher[*corev1.Pod](server), metav1.ListOptions{
		Limit: 2, ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}) {
		require.NoError(t, err)
	}
	require.Equal(t, []metav1.ListOptions{
		{Limit: 2, ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		{Limit: 2, Continue: "more"},
	}, server.asked)
}

func TestARequestWithoutAContextIsAnErrorAndNoCrash(t *testing.T) {
	var none context.Context
	_, err := answer(t, http.NotFound).List(none, metav1.ListOptions{})
	require.ErrorContains(t, err, "making the request")
}

// refuses418 is a server that says no, and notes whether its answer was closed.
type refuses418 struct{ closed *bool }

func (r refuses418) Read([]byte) (int, error) { return 0, io.EOF }
func (r refuses418) Close() error             { *r.closed = true; return nil }
func (r refuses418) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{}, Body: r}, nil
}

// A server that refuses for hours must not cost a connection each time.
func TestARefusalIsClosed(t *testing.T) {
	closed := false
	_, err := reads[*corev1.Pod](t, refuses418{&closed}, podResource).List(t.Context(),
		metav1.ListOptions{})
	require.Error(t, err)
	require.True(t, closed)
}
