package mini_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// world is an in-memory API server in a synctest bubble, and two ways to it: mini's, and
// client-go's for what another process does.
type world struct {
	*testing.T
	Server  *fakeapi.Server
	Cluster *mini.Cluster
	Other   kubernetes.Interface

	running sync.WaitGroup
	stop    context.CancelFunc
	ctx     context.Context // ends before the server does
}

// inMemory runs a test in a world of its own. Everything started by run has ended when it
// returns: a goroutine that is left over fails the test.
func inMemory(t *testing.T, test func(w *world)) {
	t.Helper()
	// Hardly a test asks who owns which field, and to track it takes a third of the time.
	inMemoryWith(t, fakeapi.Options{NoManagedFields: true}, test)
}

// inMemoryWith is inMemory with an API server of its own kind.
func inMemoryWith(t *testing.T, options fakeapi.Options, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(options)
		defer server.Close()
		cluster, err := mini.NewCluster(server.Config(), scheme.Scheme)
		require.NoError(t, err)
		cluster.Trace = trace.New(0)
		other, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		w := &world{T: t, Server: server, Cluster: cluster, Other: other}
		w.ctx, w.stop = context.WithCancel(t.Context())
		defer w.end()
		test(w)
	})
}

// run runs a part of the machinery until the test ends.
func (w *world) run(part func(context.Context) error) {
	w.running.Go(func() {
		if err := part(w.ctx); err != nil {
			w.Errorf("a part ended with an error: %v", err)
		}
	})
}

// end stops what run has started, and waits for it.
func (w *world) end() {
	w.stop()
	w.running.Wait()
}

// behindProxy returns a connection like w.Cluster, whose answers pass through something that may
// change them: a load balancer, a proxy, a login page.
func (w *world) behindProxy(meddle func(*http.Request, *http.Response)) *mini.Cluster {
	w.Helper()
	config := w.Server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return proxied(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil {
				meddle(r, response)
			}
			return response, err
		})
	})
	cluster, err := mini.NewCluster(config, scheme.Scheme)
	require.NoError(w, err)
	cluster.Trace = trace.New(0)
	return cluster
}

type proxied func(*http.Request) (*http.Response, error)

func (p proxied) RoundTrip(r *http.Request) (*http.Response, error) { return p(r) }

// page makes an answer one that no API server has given.
func page(response *http.Response, code int, contentType, body string) {
	_ = response.Body.Close()
	response.StatusCode, response.ContentLength = code, int64(len(body))
	response.Header = http.Header{"Content-Type": {contentType}}
	response.Body = io.NopCloser(strings.NewReader(body))
}

// notFoundPages are the 404s that say nothing about an object.
var notFoundPages = map[string]func(*http.Response){
	"a load balancer's text": func(r *http.Response) {
		page(r, http.StatusNotFound, "text/plain", "default backend - 404")
	},
	"a proxy's HTML": func(r *http.Response) {
		page(r, http.StatusNotFound, "text/html", "<html>nginx</html>")
	},
	"a JSON that is no Status": func(r *http.Response) {
		page(r, http.StatusNotFound, "application/json", `{"error":"no route"}`)
	},
	"nothing at all": func(r *http.Response) { page(r, http.StatusNotFound, "", "") },
	"a Status about another object": func(r *http.Response) {
		page(r, http.StatusNotFound, "application/json", `{"kind":"Status","apiVersion":"v1",`+
			`"status":"Failure","reason":"NotFound","code":404,"details":{"name":"else","kind":"pods"}}`)
	},
}
