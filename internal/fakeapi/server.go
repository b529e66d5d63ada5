package fakeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi/bufconn"
)

// Options configure a server. The zero value is a server with the common
// built-in kinds, four namespaces and a real server's time-outs.
type Options struct {
	// Kinds are registered in addition to the built-in ones.
	Kinds []Kind
	// Seed starts the random numbers behind UIDs, generated names and watch
	// time-outs. Two servers with one seed and the same requests in the same
	// order give the same answers.
	Seed uint64
	// History is the number of changes of each resource that a watch or an
	// exact list can reach back; the default is 10,000.
	History int
	// BookmarkInterval is the time between bookmarks of a watch that asked for
	// them; the default is a minute.
	BookmarkInterval time.Duration
	// WatchTimeout ends watches that name no time-out of their own; the
	// default is between 30 and 60 minutes, at random.
	WatchTimeout time.Duration
	// NoManagedFields turns off the tracking of field ownership, which is the most expensive part
	// of a write. Server-side apply then starts from objects without owned fields.
	NoManagedFields bool
	// HideManagedFields leaves field ownership out of all answers. It is tracked
	// all the same.
	HideManagedFields bool
	// TypeConverters know the schemas of custom resources, for the merging of
	// server-side apply. For a kind that none of them knows, the schema is
	// deduced from the object.
	TypeConverters []managedfields.TypeConverter
	// Front, if it is there, stands between the connections of Config and the server, as a proxy
	// does. Transport goes past it.
	Front func(server http.Handler) http.Handler
	// NoLog keeps no log of requests.
	NoLog bool
	// AnyNamespace starts without namespaces, and lets objects into one that does not exist. One
	// that is being deleted still refuses them.
	AnyNamespace bool
	// FinalizeNamespaces plays the namespace controller: the content of a
	// deleted namespace is deleted, and the namespace goes when it is empty.
	FinalizeNamespaces bool
	// ShardedListAndWatch is the feature gate of that name. Without it, as in a real server, a shard
	// selector has no effect and isn't even checked.
	ShardedListAndWatch bool
}

// Server is an in-memory Kubernetes API server. It is safe for concurrent use.
type Server struct {
	options Options

	mu sync.Mutex // guards all up to the blank line
	// store holds the objects and their history.
	store *store
	// random is the source of everything that a real server chooses at random.
	random *rand.Rand
	// resources are the registered kinds.
	resources map[schema.GroupVersionResource]*resource
	// sorted are the resources in order; nil after a registration.
	sorted []*resource
	// changed has, for each resource with watchers, a channel that the next
	// change closes. Watchers wait on it and then read the history.
	changed map[schema.GroupResource]chan struct{}
	// restored is closed, and replaced, by Restore.
	restored chan struct{}
	http     *http.Server // nil until the first connection
	closing  bool
	// emptying is true while the content of a namespace is being deleted.
	emptying bool

	managers managers
	faults   faults
	log      requestLog

	listener  *bufconn.Listener
	transport *http.Transport
	// done is closed by Close: it ends watches and faults that wait.
	done chan struct{}
	// serving counts requests, connections and the accept loop.
	serving sync.WaitGroup
}

// New returns a server. It starts nothing: use it as an http.Handler, or
// through Config.
func New(options Options) *Server {
	if options.History <= 0 {
		options.History = 10_000
	}
	if options.BookmarkInterval <= 0 {
		options.BookmarkInterval = time.Minute
	}
	s := &Server{
		options:   options,
		store:     newStore(options.History),
		random:    rand.New(rand.NewPCG(options.Seed, 0x6c6f6f70)),
		resources: map[schema.GroupVersionResource]*resource{},
		changed:   map[schema.GroupResource]chan struct{}{},
		listener:  bufconn.NewListener(),
		done:      make(chan struct{}),
		restored:  make(chan struct{}),
		managers:  managers{schemas: options.TypeConverters},
	}
	s.transport = &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) },
		MaxIdleConnsPerHost: 256,
	}
	for _, res := range builtinResources() {
		s.resources[res.gvr()] = res
	}
	for _, k := range options.Kinds {
		s.Register(k)
	}
	if !options.AnyNamespace {
		s.createBootNamespaces()
	}
	return s
}

// Register adds a kind, as a CustomResourceDefinition does to a real server. A
// kind of client-go's scheme is served with its Go type, any other one as a
// custom resource. It panics if the kind is incomplete.
func (s *Server) Register(k Kind) {
	res, err := newResource(k, rules{})
	if err != nil {
		panic("fakeapi: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for gvr, other := range s.resources {
		res.apart = res.apart || gvr.GroupResource() == res.gr() && gvr != res.gvr() && !other.apart
	}
	s.resources[res.gvr()] = res
	s.sorted = nil
}

// Served returns the kind as it is registered.
func (s *Server) Served(gvk schema.GroupVersionKind) (k Kind, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, res := range s.resources {
		if res.gvk() == gvk {
			return res.Kind, true
		}
	}
	return Kind{}, false
}

// Objects returns the objects of a resource as they are now, in the order of a list, without a request.
// They are shared and must not be changed.
func (s *Server) Objects(gr schema.GroupResource) []runtime.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	table := s.store.table(gr)
	objects := make([]runtime.Object, len(table.keys))
	for i, key := range table.keys {
		objects[i] = table.live[key].obj
	}
	return objects
}

// Unregister stops serving a kind, deletes its objects and ends its watches,
// as the deletion of a CustomResourceDefinition does.
func (s *Server) Unregister(gvr schema.GroupVersionResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	res := s.resources[gvr]
	if res == nil {
		return
	}
	for _, key := range append([]string(nil), s.store.table(res.storage()).keys...) {
		s.removeLocked(res, key)
	}
	delete(s.resources, gvr)
	s.sorted = nil
	s.notifyLocked(res.storage())
}

// ServeOnly unregisters all kinds but those of these resources: for a client
// that watches all there are, a server with few is faster.
func (s *Server) ServeOnly(resources ...string) {
	s.mu.Lock()
	var others []schema.GroupVersionResource
	for _, res := range s.sortedResourcesLocked() {
		if !slices.Contains(resources, res.Resource) {
			others = append(others, res.gvr())
		}
	}
	s.mu.Unlock()
	for _, gvr := range others {
		s.Unregister(gvr)
	}
}

func (s *Server) createBootNamespaces() {
	res := s.resources[schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}]
	for _, name := range bootNamespaces {
		ns := res.new().(*corev1.Namespace)
		ns.Name = name
		res.defaults(ns)
		s.mu.Lock()
		if err := prepareCreate(res, ns, s.birthLocked()); err != nil {
			panic(fmt.Sprintf("fakeapi: create namespace %s: %v", name, err))
		}
		s.putLocked(res, name, ns)
		s.mu.Unlock()
	}
}

// ResourceVersion is the version of the last write.
func (s *Server) ResourceVersion() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.rv
}

// Changed returns a channel that the next write closes.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changedLocked(anyResource)
}

// Compact forgets the history up to and including rv. Watches, exact lists and
// continue tokens that start before it get 410.
func (s *Server) Compact(rv uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.compact(rv)
}

// CompactAll forgets all history.
func (s *Server) CompactAll() { s.Compact(s.ResourceVersion()) }

// Config returns a client configuration for the server. Its connections are
// in-memory pipes, and the first one starts the accept loop.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host: "http://fakeapi",
		// A transport of our own keeps out of client-go's global cache of
		// transports, which outlives a synctest bubble.
		Transport: s.transport,
		// Client-side throttling would only slow a test down.
		QPS: -1,
	}
}

func (s *Server) dial(ctx context.Context) (net.Conn, error) {
	s.mu.Lock()
	if s.http == nil && !s.closing {
		var handler http.Handler = s
		if s.options.Front != nil {
			handler = s.options.Front(s)
		}
		s.http = &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), ConnState: s.countConn}
		s.serving.Add(1)
		go func(server *http.Server) {
			defer s.serving.Done()
			if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				panic(fmt.Sprintf("fakeapi: serve: %v", err))
			}
		}(s.http)
	}
	s.mu.Unlock()
	conn, err := s.listener.Dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("the in-memory API server: %w", err)
	}
	return conn, nil
}

// countConn lets Close wait for the connections' goroutines: some linger for
// half a second after the last request, and a synctest bubble must not end
// before them.
func (s *Server) countConn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.serving.Add(1)
	case http.StateClosed:
		s.serving.Done()
	}
}

// Close ends all watches and connections and waits for the requests that are
// being served. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	server := s.http
	s.mu.Unlock()
	if first {
		close(s.done)
		s.listener.Close()
		if server != nil {
			server.Close()
		}
		s.transport.CloseIdleConnections()
	}
	s.serving.Wait()
}
