package filters

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// stranger answers the first requests in place of the API server.
type stranger struct {
	http.RoundTripper
	left         *int
	code         int
	format, body string
}

func (s stranger) RoundTrip(request *http.Request) (*http.Response, error) {
	if *s.left == 0 {
		return s.RoundTripper.RoundTrip(request)
	}
	*s.left--
	return fakeapi.Answer(request, s.code, s.format, s.body), nil
}

// A scrape gets its metrics although a proxy answered the first questions, and what the proxy said
// isn't remembered as a refusal.
func TestWhatAProxyAnswersIsNoRefusal(t *testing.T) {
	page := "<html>please log in</html>"
	for name, answer := range map[string]stranger{
		"a login page":         {code: 200, format: "text/html", body: page},
		"an empty object":      {code: 200, format: "application/json", body: "{}"},
		"a page not found":     {code: 404, format: "text/plain", body: "404 page not found"},
		"a page for nobody":    {code: 403, format: "text/html", body: page},
		"a page of a password": {code: 401, format: "text/html", body: page},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := 2
				answer.left, answer.RoundTripper = &left, &judge{}
				config := &rest.Config{Host: "http://judge", QPS: -1,
					ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
				filter, err := WithAuthenticationAndAuthorization(config,
					&http.Client{Transport: answer})
				require.NoError(t, err)
				handler, err := filter(logr.Discard(), http.HandlerFunc(
					func(http.ResponseWriter, *http.Request) {}))
				require.NoError(t, err)
				code, body := ask(t.Context(), handler, "GET", "/metrics", "Bearer ann")
				require.Equal(t, http.StatusOK, code, body)
				time.Sleep(2 * tokenFor)
				left = 1 // and the second review is answered by the proxy
				code, body = ask(t.Context(), handler, "GET", "/metrics", "Bearer ann")
				require.Equal(t, http.StatusOK, code, body)
				left = tries
				code, _ = ask(t.Context(), handler, "GET", "/metrics", "Bearer bob")
				require.Equal(t, http.StatusInternalServerError, code,
					"nobody knows whether bob may, so it isn't 401 or 403")
			})
		})
	}
}
