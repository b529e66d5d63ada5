package hostile

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Op is what a request does. A list that comes as a watch (WatchList) is a List and a Watch.
type Op string

// The operations. Status is a write to the status subresource, by update or by patch.
const (
	Everything Op = "everything" // for an Attack: all of them
	Discovery  Op = "discovery"
	List       Op = "list"
	Watch      Op = "watch"
	Get        Op = "get"
	Create     Op = "create"
	Update     Op = "update"
	Status     Op = "status"
	Patch      Op = "patch"
	Delete     Op = "delete"
)

// Ops are all operations: reads, then writes.
var Ops = []Op{Discovery, List, Watch, Get, Create, Update, Status, Patch, Delete}

// IsWrite reports whether the server changes something when it carries the operation out.
func (o Op) IsWrite() bool { return slices.Index(Ops, o) > slices.Index(Ops, Get) }

// opsOf says what a request does. It's nothing if the request is neither discovery nor about a
// resource.
func opsOf(r fakeapi.Request) []Op {
	switch {
	case r.Resource == "" && r.Verb == "get" && (strings.HasPrefix(r.Path, "/api")):
		return []Op{Discovery}
	case r.Resource == "":
		return nil
	case r.Verb == "watch" && r.Query.Get("sendInitialEvents") == "true":
		return []Op{Watch, List}
	case r.Verb == "deletecollection":
		return []Op{Delete}
	case r.Subresource == "status" && (r.Verb == "update" || r.Verb == "patch"):
		return []Op{Status}
	}
	return []Op{Op(r.Verb)}
}

// Attack is a fault, the requests that it hits, and for how long.
type Attack struct {
	Fault Fault
	On    Op
	// For is how long it lasts. Zero hits one request, whenever that comes.
	For time.Duration
	// Carried lets the server carry the request out before the fault answers.
	Carried bool
	// Match, if there is one, narrows the requests further.
	Match func(fakeapi.Request) bool
}

// attack is an Attack under way.
type attack struct {
	Attack
	ends time.Time // unless For is zero
	hits int       // guarded by the network's mutex
}

func (a *attack) isOver(now time.Time) bool {
	if a.For == 0 {
		return a.hits > 0
	}
	return !now.Before(a.ends)
}

func (a *attack) matches(r fakeapi.Request) bool {
	ops := opsOf(r)
	return (slices.Contains(ops, a.On) || a.On == Everything && len(ops) > 0) &&
		(a.Match == nil || a.Match(r))
}

// Network passes requests on to an API server, unless an attack hits them.
type Network struct {
	// Latency is how long a request is on its way. In a bubble, time passes by it even for a client
	// that never waits.
	Latency time.Duration

	server http.Handler
	done   chan struct{} // closed by Close

	mu      sync.Mutex // guards the rest
	attacks []*attack
	streams map[*stream]struct{}
	kept    map[string]*answer // the newest answer to each read, for stale replicas
	// relisting has the collections whose next watch gets a 410; nil is none, and a missing
	// one has had its own.
	relisting map[string]bool
}

// New returns a network in front of a server.
func New(server http.Handler) *Network {
	return &Network{
		server: server, done: make(chan struct{}),
		streams: map[*stream]struct{}{}, kept: map[string]*answer{},
		relisting: map[string]bool{},
	}
}

// Close ends all attacks, and what waits because of one.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attacks = nil
	close(n.done)
}

// Begin puts an attack into force. The function that it returns says how many requests have been
// hit so far.
//
// Watches that are open when an attack on watches begins are part of it: a network that falls
// silent does so for them, too, and any other fault cuts them, so that they have to come back.
func (n *Network) Begin(a Attack) (hits func() int) {
	begun := &attack{Attack: a, ends: time.Now().Add(a.For)}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attacks = append(n.attacks, begun)
	for s := range n.streams {
		if !begun.isOver(time.Now()) && begun.matches(s.about) && a.On != List {
			begun.hits++
			s.attacked(begun)
		}
	}
	return func() int {
		n.mu.Lock()
		defer n.mu.Unlock()
		return begun.hits
	}
}

// Cut ends all open watches, as a load balancer does when it restarts.
func (n *Network) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for s := range n.streams {
		s.cut()
	}
}

// Relist ends all open watches, and answers the next watch of their collections with a 410, as an
// API server does that has forgotten its history. So their clients have to list again.
func (n *Network) Relist() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for s := range n.streams {
		n.relisting[s.about.Path] = true
		s.cut()
	}
}

// expires reports whether a watch gets a 410 because of Relist. One that lists doesn't need it.
func (n *Network) expires(r fakeapi.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.Verb != "watch" || !n.relisting[r.Path] {
		return false
	}
	delete(n.relisting, r.Path)
	return r.Query.Get("sendInitialEvents") != "true"
}

// hit returns the attack that hits a request, or nil.
func (n *Network) hit(r fakeapi.Request) *attack {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for _, a := range n.attacks {
		if !a.isOver(now) && a.matches(r) {
			a.hits++
			return a
		}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (n *Network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	about := fakeapi.Parse(r)
	time.Sleep(n.Latency)
	switch {
	case r.URL.Path == loginPath:
		loginPage.send(w)
		return
	case n.expires(about):
		expired.send(w)
		return
	}
	a := n.hit(about)
	switch {
	case about.Verb == "watch":
		n.watch(w, r, about, a)
	case a == nil:
		n.pass(w, r)
	case a.Fault.serve != nil:
		if a.Carried {
			n.server.ServeHTTP(newAnswer(), r)
		}
		a.Fault.serve(w, r, n, a)
	default:
		was := newAnswer()
		n.server.ServeHTTP(was, r)
		a.Fault.spoil(was, w)
	}
}

// pass passes a request on, and keeps the answer to a read.
func (n *Network) pass(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		n.server.ServeHTTP(w, r)
		return
	}
	was := newAnswer()
	n.server.ServeHTTP(was, r)
	n.mu.Lock()
	n.kept[keyOf(r)] = was
	n.mu.Unlock()
	was.send(w)
}

// replay answers a read with what was kept. A stale replica knows nothing of what it was never
// asked for, so it passes that on.
func (n *Network) replay(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	was := n.kept[keyOf(r)]
	n.mu.Unlock()
	if was == nil {
		n.server.ServeHTTP(w, r)
		return
	}
	was.send(w)
}

// keyOf says which reads have the same answer, but for their time.
func keyOf(r *http.Request) string {
	query := r.URL.Query()
	query.Del("resourceVersion")
	query.Del("resourceVersionMatch")
	query.Del("timeout")
	return r.URL.Path + "?" + query.Encode() + " " + r.Header.Get("Accept")
}

// silence blocks until the attack or the client is gone: half a minute, if it is about one request.
func (n *Network) silence(ctx context.Context, a *attack) {
	left := time.Until(a.ends)
	if a.For == 0 {
		left = silentRequest
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-n.done:
	}
}

// silentRequest is how long one request gets no answer. Then the connection breaks, as it does when
// a load balancer's idle time is over.
const silentRequest = 30 * time.Second

// drain reads the body: until then, an HTTP server doesn't notice that its client has gone.
func drain(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }

// hangUp breaks the connection. The HTTP server turns this panic value, and only this, into that.
func hangUp() { panic(http.ErrAbortHandler) }
