package informer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
)

// received counts the bytes of all answers' bodies.
type received struct {
	http.RoundTripper
	bytes *atomic.Int64
}

func (r received) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = receivedBody{response.Body, r.bytes}
	}
	return response, err
}

type receivedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b receivedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

// realShards is a real API server with objects of four namespaces.
type realShards struct {
	*testing.T
	config     *rest.Config
	live       kubernetes.Interface
	namespaces []string
	bytes      atomic.Int64 // that its clients have received
}

const inEach = 20 // objects of 4 KB

// One cluster with the gate and one without it, for all that an informer's shard has to do there.
func TestShardsOfARealAPIServer(t *testing.T) {
	t.Run("gate on", func(t *testing.T) {
		config := clustertest.WithGates(t, "ShardedListAndWatch").RESTConfig()
		t.Run("keeps", func(t *testing.T) { testKeepingAShard(newRealShards(t, config), true) })
		t.Run("follows", func(t *testing.T) { testFollowingAShard(newRealShards(t, config), true) })
		t.Run("events", func(t *testing.T) { testEventsOfAShard(newRealShards(t, config)) })
	})
	t.Run("gate off", func(t *testing.T) {
		config := clustertest.Config(t)
		t.Run("keeps", func(t *testing.T) { testKeepingAShard(newRealShards(t, config), false) })
		t.Run("follows", func(t *testing.T) { testFollowingAShard(newRealShards(t, config), false) })
	})
}

func newRealShards(t *testing.T, config *rest.Config) *realShards {
	config = rest.CopyConfig(config)
	config.QPS = -1
	live, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	w := &realShards{T: t, config: config, live: live}
	for range 4 {
		made, err := live.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shard-"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		w.namespaces = append(w.namespaces, made.Name)
		for n := range inEach {
			w.create(made.Name, fmt.Sprint("early-", n))
		}
	}
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return received{next, &w.bytes} })
	return w
}

func (w *realShards) create(namespace, name string) *corev1.ConfigMap {
	made, err := w.live.CoreV1().ConfigMaps(namespace).Create(w.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": w.namespaces[0]}},
		Data:       map[string]string{"text": strings.Repeat("x", 4000)},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	return made
}

// realShard is an informer of the ConfigMaps that create makes, or of their metadata, and what it has
// done.
type realShard[T Object] struct {
	*Informer[T]
	foreign atomic.Int64 // how often OnForeign was called

	mu    sync.Mutex // guards heard
	heard []string
}

func (r *realShard[T]) hear(what string, of T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, what+" "+KeyOf(of).String())
}

// hears waits for what the handler has to hear next, in any order.
func (r *realShard[T]) hears(t *testing.T, wanted ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("heard: %s", wanted), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.heard) >= len(wanted)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	require.ElementsMatch(t, wanted, r.heard)
	r.heard = nil
}

type hearsRealLeaves[T Object] struct {
	HandlerFuncs[T]
	of *realShard[T]
}

func (h hearsRealLeaves[T]) OnLeave(object T) { h.of.hear("leave", object) }

// keeping runs an informer until the test ends, and waits until it has its shard.
func keeping[T Object](w *realShards, streams bool, of ...string) *realShard[T] {
	w.Helper()
	from, err := NewListWatch[T](w.config, configMapResource,
		ListWatchOptions{LabelSelector: "of=" + w.namespaces[0]})
	require.NoError(w, err)
	r := &realShard[T]{}
	options := InformerOptions[T]{Reflector: ReflectorOptions{NoStream: !streams}}
	if of != nil {
		options.Shard = ShardOptions{First: shardOf(of...), OnForeign: func() { r.foreign.Add(1) }}
	}
	r.Informer = NewInformer(from, options)
	_, err = r.AddHandler(hearsRealLeaves[T]{HandlerFuncs[T]{
		Add:    func(object T, _ bool) { r.hear("add", object) },
		Update: func(_, object T) { r.hear("update", object) },
		Delete: func(object T, _ bool) { r.hear("delete", object) },
	}, r}, HandlerOptions{})
	require.NoError(w, err)
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	w.Cleanup(func() { cancel(); running.Wait() })
	require.NoError(w, r.WaitForShard(ctx))
	return r
}

func earlyOf(what, namespace string) (all []string) {
	for n := range inEach {
		all = append(all, fmt.Sprintf("%s %s/early-%d", what, namespace, n))
	}
	return all
}

// With the gate a replica of four receives a quarter; without it, everything, and keeps a quarter.
// That the second server's answers have no shardInfo must not make the informer believe that all of
// a list is its own.
func testKeepingAShard(w *realShards, selects bool) {
	for _, streams := range []bool{false, true} {
		w.bytes.Store(0)
		whole := keeping[*corev1.ConfigMap](w, streams)
		everything := w.bytes.Swap(0)
		require.Equal(w, len(w.namespaces)*inEach, whole.Store().Len())
		require.Greater(w, everything, int64(len(w.namespaces)*inEach*4000))

		one := keeping[*corev1.ConfigMap](w, streams, w.namespaces[1])
		received := w.bytes.Load()
		w.Logf("streams %t: %d bytes for a shard, %d for all", streams, received, everything)
		one.hears(w.T, earlyOf("add", w.namespaces[1])...)
		require.Equal(w, inEach, one.Store().Len())
		if selects {
			require.Less(w, received, everything/3)
			require.Zero(w, one.foreign.Load())
		} else {
			require.Greater(w, received, everything*2/3)
			require.Equal(w, int64(1), one.foreign.Load(), "the user should hear of it, once")
		}
		metadata := keeping[*metav1.PartialObjectMetadata](w, streams, w.namespaces[1])
		require.Equal(w, inEach, metadata.Store().Len(), "lists of metadata never have a shardInfo")
		require.Equal(w, !selects, metadata.foreign.Load() == 1)
	}
}

// Events of the whole cluster would fill a replica's store, and what another replica takes over would
// look deleted.
func testFollowingAShard(w *realShards, selects bool) {
	mine, theirs := w.namespaces[1], w.namespaces[2]
	one := keeping[*corev1.ConfigMap](w, true, mine)
	one.hears(w.T, earlyOf("add", mine)...)
	maps := w.live.CoreV1().ConfigMaps
	change := func(namespace, name string) {
		_, err := maps(namespace).Patch(w.Context(), name, "application/merge-patch+json",
			[]byte(`{"data":{"text":"short"}}`), metav1.PatchOptions{})
		require.NoError(w, err)
	}
	play := func() {
		for _, namespace := range []string{theirs, mine} {
			w.create(namespace, "late")
			change(namespace, "late")
			require.NoError(w, maps(namespace).Delete(w.Context(), "late", metav1.DeleteOptions{}))
		}
	}
	hears := func(namespace string) {
		w.Helper()
		key := namespace + "/late"
		one.hears(w.T, "add "+key, "update "+key, "delete "+key)
	}
	play()
	hears(mine)

	one.Keep(shardOf(theirs))
	require.NoError(w, one.WaitForShard(w.Context()))
	one.hears(w.T, append(earlyOf("add", theirs), earlyOf("leave", mine)...)...)
	play()
	w.create(theirs, "last") // so what comes from the other namespace has come before this
	key := theirs + "/late"
	one.hears(w.T, "add "+key, "update "+key, "delete "+key, "add "+theirs+"/last")
	require.Equal(w, inEach+1, one.Store().Len())
	require.Equal(w, !selects, one.foreign.Load() == 1)
}

// kube-apiserver 1.36 ignores the selector of a watch of Events, though it says that it has selected
// the list. Whoever believed that would keep the Events of the whole cluster.
func testEventsOfAShard(w *realShards) {
	t := w.T
	from, err := NewListWatch[*corev1.Event](w.config, corev1.SchemeGroupVersion.WithResource("events"),
		ListWatchOptions{})
	require.NoError(t, err)
	mine, theirs := w.namespaces[1], w.namespaces[2]
	var foreign atomic.Int64
	informer := NewInformer(from, InformerOptions[*corev1.Event]{
		Shard: ShardOptions{First: shardOf(mine), OnForeign: func() { foreign.Add(1) }},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = informer.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	require.NoError(t, informer.WaitForShard(ctx))
	for _, namespace := range []string{theirs, mine} {
		_, err := w.live.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: "late"},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "p"},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	holds(t, informer, keyIn(mine, "late"))
	_, has := informer.Store().Get(keyIn(theirs, "late"))
	require.False(t, has)
	require.Equal(t, int64(1), foreign.Load(), "newer servers select here, too: then this test may go")
}
