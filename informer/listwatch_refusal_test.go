package informer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// A client that comes back too early is refused again, and one that waits for a day is an outage.
func TestOnlyTheServerSaysHowLongToWait(t *testing.T) {
	for _, c := range []struct {
		name, header, body string
		want               int32 // 0 if nobody said so
	}{
		{"the Status says it", "7", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":3}}`, 3},
		{"only the header says it", "7", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"details":{"kind":"pods"}}`, 7},
		{"the header says one second", "1", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`, 1},
		{"the header says more than a number holds", "99999999999", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`, 1 << 20},
		{"the header is a date", "Wed, 21 Oct 2026 07:28:00 GMT", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"details":{"kind":"pods"}}`, 0},
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
			require.Equal(t, strings.Contains(c.body, "details"), details != nil, "%s: nothing is added to what the server says", c.name)
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
		{"a success that is none", `{"kind":"Status","apiVersion":"v1","status":"Success"}`, `502, "{\"kind\":\"Status\"`},
		{"something else", `{"kind":"Pod","apiVersion":"v1"}`, `502, "{\"kind\":\"Pod\"`},
		{"a page without an end", strings.Repeat("x", 3*maxRefusal), `502, "` + strings.Repeat("x", maxRefusal) + `"`},
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
	_, err := reads[*corev1.Pod](t, refuses418{&closed}, podResource).List(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	require.True(t, closed)
}
