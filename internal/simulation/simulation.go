// Package simulation is the world in which controllers are tested: an API server, users, kubelets,
// and the process of the controllers.
//
//	a test of one thing -> New -> World
//	a Story -> seeds -> a calm World and a wild one -> the same end
//
// In a World (New), a test plays the users itself, and injects the faults that it's about. In a
// Story, a seed decides what users do, and what goes wrong. A Story runs twice, in a calm World and
// in a wild one, in which the process may also crash after a write, and compares the two results.
//
// Neighbours: below it is internal/fakeapi. Above it are only tests of controllers; it has to run
// in a testing/synctest bubble.
package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/trace"
)

// Agent is the user agent of the controllers' requests.
const Agent = "simulated-controllers"

// World is an API server, users, kubelets, and the process of the controllers.
type World struct {
	T           testing.TB
	Server      *fakeapi.Server
	Live        client.WithWatch // the client of users and kubelets
	Users       *rand.Rand       // for what users do
	controllers Process
	wild        bool            // whether mishaps happen
	restFor     time.Duration   // see Story.Rest
	trace       *trace.Recorder // nil: off
	// network stands between the controllers and the server. Outside a Story it's nil, and requests
	// go over connections, which cost more than half of a run.
	network *hostile.Network
	latency time.Duration // see Latency

	dropsTerminating atomic.Bool                                        // see KnowsTerminating
	proxy            atomic.Pointer[func(*http.Request) *http.Response] // see Proxy

	beside  atomic.Int32   // old processes that go on beside the new one
	running []*begun       // the mishaps under way
	others  sync.WaitGroup // all goroutines but those of processes
	done    chan struct{}  // closed by End

	mu      sync.Mutex    // guards the rest
	skew    time.Duration // how far the kubelets' clocks are ahead
	deeds   deeds
	process *process
	old     []*process
	ended   bool
	halted  bool // see halt
	counts  map[string]int
	tale    []string
	broken  []Broken
	bent    map[Promise][]span // when mishaps excused what broke it
	changes []Change
}

// New makes a World without faults, in which no process runs yet. It ends with the test.
func New(t testing.TB, controllers Process) *World {
	w := empty(t, controllers, false)
	w.dial(w.connection())
	return w
}

// NewDirect is New without connections, which is faster.
func NewDirect(t testing.TB, controllers Process) *World { return newDirect(t, controllers, false) }

func newDirect(t testing.TB, controllers Process, selectsShards bool) *World {
	w := empty(t, controllers, selectsShards)
	w.network = hostile.New(w.Server)
	users := w.connection()
	users.Transport = w.Server.Transport()
	w.dial(users)
	return w
}

func empty(t testing.TB, controllers Process, selectsShards bool) *World {
	w := &World{
		T: t, controllers: controllers, done: make(chan struct{}), counts: map[string]int{},
		bent: map[Promise][]span{},
		Server: fakeapi.New(fakeapi.Options{
			NoManagedFields: true, WatchTimeout: 10_000 * time.Hour, ShardedListAndWatch: selectsShards,
		}),
	}
	t.Cleanup(w.End)
	return w
}

// dial connects the users.
func (w *World) dial(connection *rest.Config) {
	to, err := rest.HTTPClientFor(connection)
	require.NoError(w.T, err)
	asking, err := apiutil.NewDynamicRESTMapper(connection, to)
	require.NoError(w.T, err)
	w.Live, err = client.NewWithWatch(connection, client.Options{
		HTTPClient: to, Mapper: meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{usersMapper(), asking}},
	})
	require.NoError(w.T, err)
}

// usersMapper knows the paths of all kinds that a server has from the start. A client that asks the
// server for them, as it must for others, costs a tenth of a day.
var usersMapper = sync.OnceValue(func() meta.RESTMapper {
	server := fakeapi.New(fakeapi.Options{})
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		kind, served := server.Served(gvk)
		if !served {
			continue
		}
		var scope meta.RESTScope = meta.RESTScopeNamespace
		if kind.ClusterScoped {
			scope = meta.RESTScopeRoot
		}
		resource := gvk.GroupVersion().WithResource(kind.Resource)
		mapper.AddSpecific(gvk, resource, resource, scope)
	}
	return mapper
})

// connection returns a client configuration that doesn't log the server's warnings about old
// kinds.
func (w *World) connection() *rest.Config {
	connection := w.Server.Config()
	connection.WarningHandlerWithContext = rest.NoWarnings{}
	if w.network != nil {
		connection.Transport = fakeapi.TransportTo(w.network)
	}
	return connection
}

// Latency delays each request of the controllers, so that the bubble's clock advances even if they
// never sleep.
func (w *World) Latency() {
	w.latency = 10 * time.Millisecond
	w.Server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{UserAgent: Agent}, Delay: w.latency,
	})
}

// Go runs f beside the test. f has to end when Done is closed; End waits for it.
func (w *World) Go(f func()) { w.others.Go(f) }

// Done is closed by End.
func (w *World) Done() <-chan struct{} { return w.done }

// End stops everything, and waits for it. It may be called twice.
func (w *World) End() {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return
	}
	w.ended = true
	processes := w.old
	if w.process != nil {
		processes = append(processes, w.process)
	}
	w.mu.Unlock()
	close(w.done)
	if w.network != nil {
		w.network.Close()
	}
	for _, p := range processes {
		p.end()
	}
	w.others.Wait()
	w.Server.Close()
}

// Count counts what has happened.
func (w *World) Count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// Tell adds a line to the tale.
func (w *World) Tell(format string, args ...any) { w.TellOf(time.Now(), format, args...) }

// TellOf adds a line to the tale, with the time at which it happened.
func (w *World) TellOf(at time.Time, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tellLocked(at, format, args...)
}

const clockFormat = "15:04:05.000"

func (w *World) tellLocked(at time.Time, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.tale = append(w.tale, at.UTC().Format(clockFormat)+" "+text)
	w.trace.Record(trace.Event{Kind: trace.Note, Layer: "story", Reason: text})
}

// taleInOrder returns the tale, sorted by time.
func (w *World) taleInOrder() string {
	slices.SortStableFunc(w.tale, func(a, b string) int {
		return cmp.Compare(a[:len(clockFormat)], b[:len(clockFormat)])
	})
	return strings.Join(w.tale, "\n")
}
