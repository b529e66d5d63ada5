package mini_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"reflect"
	"runtime"
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

// mutexOf returns the lock of what owner points to: a test that holds it sees what a method does before it needs it. A reader's
// own type may have another one, and then the test is skipped. `make verify` fails if a mistake has another one, because the
// test that should catch it is skipped.
func mutexOf(t *testing.T, owner any) *sync.Mutex {
	t.Helper()
	value := reflect.ValueOf(owner).Elem()
	mu, ok := value.Type().FieldByName("mu")
	if !ok || len(mu.Index) > 1 || mu.Type != reflect.TypeFor[sync.Mutex]() { // that of an embedded type is another lock
		t.Skip("the type has another lock than in the reference")
	}
	return (*sync.Mutex)(value.FieldByIndex(mu.Index).Addr().UnsafePointer())
}

// rwMutexOf is mutexOf for a type whose readers come in together.
func rwMutexOf(t *testing.T, owner any) *sync.RWMutex {
	t.Helper()
	value := reflect.ValueOf(owner).Elem()
	mu, ok := value.Type().FieldByName("mu")
	if !ok || len(mu.Index) > 1 || mu.Type != reflect.TypeFor[sync.RWMutex]() {
		t.Skip("the type has another lock than in the reference")
	}
	return (*sync.RWMutex)(value.FieldByIndex(mu.Index).Addr().UnsafePointer())
}

// locksAwaited returns how many goroutines wait for a lock: the dump of all of them says so.
func locksAwaited() int {
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	return bytes.Count(dump, []byte("[sync.Mutex.Lock")) + bytes.Count(dump, []byte("[sync.RWMutex."))
}

// untilALockIsAwaited lets others run until more goroutines than that wait for a lock, or something has happened. A reader's
// own code may wait for something else, so it gives up some time: then the test sees less, and fails nobody.
func untilALockIsAwaited(more int, happened func() bool) {
	for try := 0; try < 10_000 && locksAwaited() <= more && !happened(); try++ {
		runtime.Gosched()
	}
}

// inTurns releases a lock that the test holds: to whoever waits for it, and then to each of the calls, in this order. Whatever
// releases the lock in the middle of its work has to wait there until all others have had their turn.
func inTurns(mu *sync.Mutex, calls ...func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // whoever is woken doesn't run yet
	ended := make(chan struct{}, len(calls))
	oneHasEnded := func() bool { return len(ended) > 0 }
	waiting := locksAwaited()
	for _, call := range calls {
		go func() {
			call()
			ended <- struct{}{}
		}()
		untilALockIsAwaited(waiting, oneHasEnded)
		waiting++
	}
	for range 100 { // for a millisecond or more, even on a fast machine
		_ = locksAwaited()
	}
	runtime.Gosched() // a new time slice, which the next two lines don't use up
	mu.Unlock()
	mu.Lock() // a waiter that has waited for that long, and finds the lock taken again, makes Go hand it on in order
	untilALockIsAwaited(waiting-1, oneHasEnded)
	mu.Unlock()
	for range calls {
		<-ended
	}
}
