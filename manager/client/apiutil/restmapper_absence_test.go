package apiutil

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// impostor answers in an API server's place where its answer isn't nil.
type impostor struct {
	next   http.RoundTripper
	answer func(path string) *http.Response
}

// RoundTrip implements http.RoundTripper.
func (i *impostor) RoundTrip(r *http.Request) (*http.Response, error) {
	if i.answer != nil {
		if answer := i.answer(r.URL.Path); answer != nil {
			answer.Request = r
			return answer, nil
		}
	}
	return i.next.RoundTrip(r)
}

func says(code int, contentType, body string) *http.Response {
	return fakeapi.Answer(nil, code, contentType, body)
}

func onlyAt(at string, code int, contentType, body string) func(string) *http.Response {
	return func(path string) *http.Response {
		if at != "" && path != at {
			return nil
		}
		return says(code, contentType, body)
	}
}

var impostors = []struct {
	name   string
	answer func(path string) *http.Response
	shows  string // in the error
}{
	{"a text 404 for everything", onlyAt("", 404, "text/plain", "404 page not found\n"), "404 page not found"},
	{"a text 404 for the version", onlyAt("/apis/shop.example/v1", 404, "text/plain", "404 page not found\n"), "/apis/shop.example/v1 was answered with 404"},
	{"a Status 404 for the version", onlyAt("/apis/shop.example/v1", 404, "application/json",
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`), "answered with 404"},
	{"a login page for everything", onlyAt("", 200, "text/html", "<html>Log in"), "Log in"},
	{"a login page for the version", onlyAt("/apis/shop.example/v1", 200, "text/html", "<html>Log in"), "Log in"},
	{"another service's JSON", onlyAt("", 200, "application/json", `{"message":"welcome"}`), "welcome"},
	{"an empty list of resources", onlyAt("/apis/shop.example/v1", 200, "application/json",
		`{"kind":"APIResourceList","groupVersion":"shop.example/v1","resources":[]}`), "lists no resources"},
	{"an empty list of groups", func(path string) *http.Response {
		if path == "/apis" {
			return says(200, "application/json", `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		}
		return says(404, "text/plain", "404 page not found\n")
	}, "was answered with"},
}

// A program that is told "no such kind" gives up, or decides that there's nothing to do. It's a load balancer that has
// said so.
func TestWhatAProxyAnswersIsNoMissingKind(t *testing.T) {
	for _, hostile := range impostors {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{{Group: "shop.example", Version: "v1", Kind: "Widget"}}})
			defer server.Close()
			m, between := behind(t, server)
			mustFind(t, m, "v1 pods", podKind, "v1") // the list of groups is known
			between.answer = hostile.answer
			for range 2 * askAgainBurst {
				for _, versions := range [][]string{{"v1"}, nil} {
					_, err := find(m, widgetV1, versions...)
					require.Error(t, err, hostile.name)
					require.False(t, meta.IsNoMatchError(err), "%s: %v", hostile.name, err)
					require.False(t, apierrors.IsNotFound(err), "%s: a reader would take it for a missing object: %v", hostile.name, err)
					require.ErrorContains(t, err, hostile.shows, hostile.name)
				}
				mustFind(t, m, "v1 pods", podKind, "v1")
			}
			between.answer = nil
			time.Sleep(time.Second)
			mustFind(t, m, "v1 widgets", widgetV1, "v1")

			time.Sleep(time.Minute)
			between.answer = hostile.answer
			mustFind(t, m, "v1 widgets", widgetV1, "v1")
			_, err := find(m, gadgetV1, "v1")
			require.False(t, meta.IsNoMatchError(err), hostile.name)
			mustFind(t, m, "v1 widgets", widgetV1, "v1") // what is known stays known
			mustFind(t, m, "v1 widgets", widgetV1)
		})
	}
}

// client-go takes a 404 for /api or /api/v1 for a server without Pods, and says nothing.
func TestA404ForTheCoreGroupIsNoServerWithoutPods(t *testing.T) {
	for _, path := range []string{"/api", "/api/v1"} {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			m, between := behind(t, server)
			between.answer = func(asked string) *http.Response {
				if asked == path || asked == "/api/v1" {
					return says(404, "text/plain", "404 page not found\n")
				}
				return nil
			}
			for _, versions := range [][]string{{"v1"}, nil} {
				_, err := find(m, podKind, versions...)
				require.Error(t, err)
				require.False(t, meta.IsNoMatchError(err), "%s: %v", path, err)
				require.ErrorContains(t, err, "404 page not found")
			}
			mustFind(t, m, "v1 deployments", deployKind, "v1") // other groups are found
			between.answer = nil
			time.Sleep(time.Second)
			mustFind(t, m, "v1 pods", podKind)
		})
	}
}

func behind(t *testing.T, server *fakeapi.Server) (meta.RESTMapper, *impostor) {
	t.Helper()
	config := server.Config()
	between := &impostor{next: config.Transport}
	config.Transport = between
	httpClient, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	m, err := NewDynamicRESTMapper(config, httpClient)
	require.NoError(t, err)
	return m, between
}
