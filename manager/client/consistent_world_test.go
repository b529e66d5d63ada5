package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lateCache is a cache of config maps that sees what has changed when the test says so.
type lateCache struct {
	server  Client
	ignore  map[string]bool // names that its selector does not match
	isEmpty bool            // there is no informer of the kind

	mu      sync.Mutex // guards what follows
	objects map[ObjectKey]corev1.ConfigMap
	version uint64
	rewinds int           // how often the version went back
	changed chan struct{} // closed when the cache sees something new
	waits   []string      // that were asked for
	broken  error         // the answer to all reads
	news    func()        // called by the next read, before it looks
}

// see makes the cache see all that has changed.
func (c *lateCache) see(ctx context.Context) {
	var list corev1.ConfigMapList
	if err := c.server.List(ctx, &list); err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects = map[ObjectKey]corev1.ConfigMap{}
	for _, object := range list.Items {
		if c.ignore[object.Name] {
			continue
		}
		c.objects[ObjectKeyFromObject(&object)] = object
	}
	if version := number(list.ResourceVersion); version < c.version {
		c.rewinds++
	}
	c.version = number(list.ResourceVersion)
	if c.changed != nil {
		close(c.changed)
	}
	c.changed = make(chan struct{})
}

func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// Get implements Reader.
func (c *lateCache) Get(_ context.Context, key ObjectKey, obj Object, _ ...GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear()
	found, ok := c.objects[key]
	if c.broken != nil {
		return c.broken
	}
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	obj.SetName(found.Name)
	obj.SetNamespace(found.Namespace)
	obj.SetResourceVersion(found.ResourceVersion)
	return nil
}

// List implements Reader.
func (c *lateCache) List(_ context.Context, list ObjectList, _ ...ListOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear()
	list.SetResourceVersion(fmt.Sprint(c.version))
	if typed, ok := list.(*corev1.ConfigMapList); ok {
		typed.Items = slices.SortedFunc(maps.Values(c.objects), // a loop may find only the last
			func(a, b corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
	}
	return c.broken
}

func (c *lateCache) hear() {
	if news := c.news; news != nil {
		c.news = nil
		news()
	}
}

// Holds implements WriteWaiter.
func (c *lateCache) Holds(written Object) bool { return !c.ignore[written.GetName()] && !c.isEmpty }

// WaitFor implements WriteWaiter.
func (c *lateCache) WaitFor(ctx context.Context, obj Object, key ObjectKey, version string) error {
	return c.wait(ctx, fmt.Sprintf("%s %s", kindIn(obj), key), func() bool { return c.version >= number(version) })
}

// WaitForEnd implements WriteWaiter.
func (c *lateCache) WaitForEnd(ctx context.Context, obj Object, key ObjectKey, isOld func(Object) bool) error {
	return c.wait(ctx, fmt.Sprintf("%s %s gone", kindIn(obj), key), func() bool {
		object, there := c.objects[key]
		return !there || !isOld(&object)
	})
}

func kindIn(obj Object) string {
	return fmt.Sprintf("%T%s", obj, obj.GetObjectKind().GroupVersionKind().Kind)
}

func (c *lateCache) wait(ctx context.Context, what string, isMet func() bool) error {
	c.mu.Lock()
	if ctx.Err() == nil {
		c.waits = append(c.waits, what)
	}
	for !isMet() && !c.isEmpty {
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the cache has not seen it: %w", context.Cause(ctx))
		}
		c.mu.Lock()
	}
	c.mu.Unlock()
	return nil
}

// lateWorld is a world whose client reads its own writes from a cache that is late.
type lateWorld struct {
	*world
	cache  *lateCache
	reader *consistentClient
}

func inLateWorld(t *testing.T, options CacheOptions, test func(*lateWorld)) {
	t.Helper()
	inWorld(t, Options{}, func(w *world) {
		cache, yes := &lateCache{server: w.WithWatch, ignore: map[string]bool{}}, true
		cache.see(w.Context())
		options.Reader, options.EnableReadYourWritesConsistency = cache, &yes
		config := w.server.Config()
		config.Transport = w.wire
		c, err := NewWithWatch(config, Options{Cache: &options})
		require.NoError(w, err)
		reader := c.(*watchingClient).Client.(*consistentClient)
		w.WithWatch = c
		test(&lateWorld{w, cache, reader})
	})
}

// waits checks that a read ends when the cache sees what has changed, and not before.
func (w *lateWorld) waits(read func() error) {
	w.Helper()
	done := make(chan error, 1)
	go func() { done <- read() }()
	synctest.Wait()
	select {
	case err := <-done:
		require.FailNow(w, "the read must wait until the cache has seen what was written", "it returned %v", err)
	default:
	}
	w.cache.see(w.Context())
	synctest.Wait()
	select {
	case err := <-done:
		require.NoError(w, IgnoreNotFound(err))
	default:
		require.FailNow(w, "the read must end when the cache has seen what was written")
	}
	w.answersAtOnce(read)
}

// answersAtOnce checks that a read waits for nothing.
func (w *lateWorld) answersAtOnce(read func() error) {
	w.Helper()
	began := time.Now()
	ctx, end := context.WithTimeout(w.Context(), time.Minute)
	defer end()
	done := make(chan error, 1)
	go func() { done <- read() }()
	select {
	case err := <-done:
		require.NoError(w, IgnoreNotFound(err))
		require.Zero(w, time.Since(began))
	case <-ctx.Done():
		w.cache.see(w.Context())
		<-done
		require.FailNow(w, "there is nothing to wait for")
	}
}

func (w *lateWorld) get(name string, opts ...GetOption) func() error {
	return func() error { return w.Get(w.Context(), shopKey(name), &corev1.ConfigMap{}, opts...) }
}

func (w *lateWorld) list(opts ...ListOption) func() error {
	return func() error { return w.List(w.Context(), &corev1.ConfigMapList{}, opts...) }
}

// remembered is the number of objects of which the client remembers something.
func (w *lateWorld) remembered() (n int) {
	for _, writes := range w.reader.writes {
		n += len(writes.keys(metav1.NamespaceAll))
	}
	return n
}
