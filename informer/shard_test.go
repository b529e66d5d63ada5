package informer

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// namespaces are a shard of these and no others: each has a range with nothing else in it.
type namespaces []string

func shardOf(all ...string) Shard { return namespaces(all) }

func (n namespaces) Has(namespace string) bool { return slices.Contains(n, namespace) }
func (n namespaces) IsEmpty() bool             { return len(n) == 0 }

func (n namespaces) Selector() string {
	terms := make([]string, len(n))
	for i, namespace := range n {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(namespace)) // it can't fail
		terms[i] = fmt.Sprintf("shardRange(object.metadata.namespace, '0x%016x', '0x%016x')",
			hash.Sum64(), hash.Sum64()+1)
	}
	return strings.Join(terms, " || ")
}

// shardWorld is an informer of ConfigMaps that has a shard, and what its handler hears.
type shardWorld struct {
	*testing.T
	server   *fakeapi.Server
	live     kubernetes.Interface
	recorder *trace.Recorder
	informer *Informer[*corev1.ConfigMap]

	mu      sync.Mutex
	heard   []string
	foreign int
}

func (w *shardWorld) hear(what string, of *corev1.ConfigMap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, what+" "+of.Namespace+"/"+of.Name)
}

// hears returns what the handler has heard since the last call.
func (w *shardWorld) hears() (heard []string) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	heard, w.heard = w.heard, nil
	return heard
}

func (w *shardWorld) create(namespace, name string) *corev1.ConfigMap {
	made, err := w.live.CoreV1().ConfigMaps(namespace).Create(w.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(w, err)
	return made
}

func (w *shardWorld) remove(namespace, name string) {
	require.NoError(w, w.live.CoreV1().ConfigMaps(namespace).Delete(w.Context(), name,
		metav1.DeleteOptions{}))
}

// keep makes the informer keep namespaces, and waits until it does.
func (w *shardWorld) keep(namespaces ...string) {
	w.informer.Keep(shardOf(namespaces...))
	require.NoError(w, w.informer.WaitForShard(w.Context()))
}

// keys is what the store has.
func (w *shardWorld) keys() []string {
	keys := []string{}
	for object := range w.informer.Store().All() {
		keys = append(keys, object.Namespace+"/"+object.Name)
	}
	return keys
}

// reads are the lists and watches of ConfigMaps.
func (w *shardWorld) reads() []fakeapi.Request {
	return append(w.server.Requests(fakeapi.Match{Verb: "list", Resource: "configmaps"}),
		w.server.Requests(fakeapi.Match{Verb: "watch", Resource: "configmaps"})...)
}

type shardServer struct{ selects, streams bool }

// withShard runs a test on each kind of server, with an informer that begins with a shard.
func withShard(t *testing.T, first []string, test func(w *shardWorld, s shardServer)) {
	for _, s := range []shardServer{{true, true}, {true, false}, {false, true}, {false, false}} {
		t.Run(fmt.Sprintf("selects shards %t, streams %t", s.selects, s.streams), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := fakeapi.New(fakeapi.Options{
					AnyNamespace: true, ShardedListAndWatch: s.selects,
				})
				defer server.Close()
				live, err := kubernetes.NewForConfig(server.Config())
				require.NoError(t, err)
				w := &shardWorld{T: t, server: server, live: live, recorder: trace.New(1000)}
				for _, namespace := range []string{"blue", "green", "red"} {
					w.create(namespace, "early")
				}
				server.ForgetRequests()
				from, err := NewListWatch[*corev1.ConfigMap](server.Config(), configMapResource, ListWatchOptions{})
				require.NoError(t, err)
				w.informer = NewInformer(from, InformerOptions[*corev1.ConfigMap]{
					Reflector: ReflectorOptions{NoStream: !s.streams}, Recorder: w.recorder,
					Shard: ShardOptions{First: shardOf(first...), OnForeign: func() { w.foreign++ }},
				})
				_, err = w.informer.AddHandler(hearsLeaves{HandlerFuncs[*corev1.ConfigMap]{
					Add:    func(object *corev1.ConfigMap, _ bool) { w.hear("add", object) },
					Update: func(_, object *corev1.ConfigMap) { w.hear("update", object) },
					Delete: func(object *corev1.ConfigMap, unseen bool) {
						w.hear(fmt.Sprintf("delete (unseen %t)", unseen), object)
					},
				}, w}, HandlerOptions{})
				require.NoError(t, err)
				// It knows nothing of shards, and hears of no object that leaves.
				_, err = w.informer.AddHandler(HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{Name: "plain"})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { _ = w.informer.Run(ctx) })
				require.NoError(t, w.informer.WaitForShard(ctx))
				test(w, s)
				cancel()
				running.Wait()
			})
		})
	}
}

// slowShard keeps the reflector's goroutine for a minute when an object of one of its namespaces comes.
type slowShard struct{ namespaces }

func (s slowShard) Has(namespace string) bool {
	if namespace == "slow" {
		time.Sleep(time.Minute)
	}
	return s.namespaces.Has(namespace)
}

// hearsLeaves is a LeaveHandler.
type hearsLeaves struct {
	HandlerFuncs[*corev1.ConfigMap]
	w *shardWorld
}

func (h hearsLeaves) OnLeave(object *corev1.ConfigMap) { h.w.hear("leave", object) }

// A replica of four would need the memory of one, and reconcile what others reconcile.
func TestAnInformerKeepsItsShardAndNothingElse(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, s shardServer) {
		require.Equal(w, []string{"add red/early"}, w.hears())
		w.create("red", "late")
		version := w.create("blue", "late").ResourceVersion
		w.remove("green", "early")
		w.remove("red", "early")
		require.Equal(w, []string{"add red/late", "delete (unseen false) red/early"}, w.hears())
		require.Equal(w, []string{"red/late"}, w.keys())
		for _, r := range w.reads() {
			require.Equal(w, shardOf("red").Selector(), r.Query.Get("shardSelector"), "%s", r)
		}
		if s.selects {
			require.Zero(w, w.foreign, "the server sends only what was asked for")
		} else {
			require.Equal(w, 1, w.foreign, "the user should hear of it, once")
		}
		// An event of another shard moves the version on, or whoever waits for it waits for a minute.
		waiting, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
		defer cancel()
		require.NoError(w, w.informer.WaitFor(waiting, Key{Namespace: "red", Name: "x"}, version))
	})
}

// A controller would take objects that another replica has now for deleted ones, and delete or create
// what belongs to them.
func TestWhatLeavesTheShardIsNotDeleted(t *testing.T) {
	withShard(t, []string{"red", "green"}, func(w *shardWorld, _ shardServer) {
		require.ElementsMatch(w, []string{"add red/early", "add green/early"}, w.hears())
		w.keep("green", "blue")
		require.ElementsMatch(w, []string{"leave red/early", "add blue/early"}, w.hears())
		require.ElementsMatch(w, []string{"green/early", "blue/early"}, w.keys())
		w.remove("red", "early")
		w.create("red", "late")
		require.Empty(w, w.hears(), "nobody here has to do with it")
		w.remove("green", "early")
		require.Equal(w, []string{"delete (unseen false) green/early"}, w.hears())
		w.keep("green", "red")
		require.ElementsMatch(w, []string{"leave blue/early", "add red/late"}, w.hears())

		left := map[string]int{}
		for _, e := range w.recorder.Events() {
			if e.Kind == trace.Left {
				left[e.Namespace+"/"+e.Name]++
			}
			require.NotEqual(w, trace.Delta, e.Kind, "no deletion was missed: %s", e.Name)
			if e.Kind == trace.Notified && e.Layer == "plain" {
				require.NotEqual(w, "delete", e.Op+e.Namespace, "%s", e.Name)
			}
		}
		require.Equal(w, map[string]int{"red/early": 1, "blue/early": 1}, left)
	})
}

// What was deleted while the watch was away is deleted, even if the list that shows it is that of
// another shard.
func TestADeletionThatAListOfAnotherShardShowsIsOne(t *testing.T) {
	withShard(t, []string{"red", "green"}, func(w *shardWorld, _ shardServer) {
		w.hears()
		lift := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, DelayEvents: time.Hour})
		w.keep("red", "green") // its watch is the delayed one
		w.remove("green", "early")
		require.Empty(w, w.hears())
		lift()
		w.keep("green")
		require.ElementsMatch(w, []string{"leave red/early", "delete (unseen true) green/early"}, w.hears())
	})
}

// The new owner of a namespace would miss what the old one has written last, and write it again.
func TestTheListOfAnotherShardIsTheNewest(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		w.server.ForgetRequests()
		w.keep("blue")
		for _, r := range w.reads() {
			if r.Verb == "list" || r.Query.Get("sendInitialEvents") == "true" {
				require.Empty(w, r.Query.Get("resourceVersion"), "%v", r.Query)
			}
		}
		require.NotEmpty(w, w.reads())
	})
}

// A replica without work would list everything to keep nothing.
func TestAnEmptyShardAsksForNothing(t *testing.T) {
	withShard(t, nil, func(w *shardWorld, s shardServer) {
		time.Sleep(time.Hour)
		require.Empty(w, w.reads())
		require.NoError(w, w.informer.Health().LastError)
		w.keep("red")
		require.Equal(w, s.streams, slices.ContainsFunc(w.reads(), func(r fakeapi.Request) bool {
			return r.Query.Get("sendInitialEvents") == "true"
		}), "the server has refused no stream")
		require.Equal(w, []string{"add red/early"}, w.hears())
		w.keep()
		require.Equal(w, []string{"leave red/early"}, w.hears())
		w.server.ForgetRequests()
		time.Sleep(time.Hour)
		require.Empty(w, w.reads())
		w.keep("red")
		require.Equal(w, []string{"add red/early"}, w.hears())
	})
}

// A range that comes while the server is away would wait for the end of a long pause.
func TestAnotherShardEndsAPause(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		for _, verb := range []string{"watch", "list"} {
			defer w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: verb}, Times: 20,
				Status: fakeapi.Unavailable()})()
		}
		w.informer.Keep(shardOf("blue"))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(w, StateWaiting, w.informer.Health().State)
		w.server.ForgetRequests()
		w.informer.Keep(shardOf("green"))
		synctest.Wait()
		require.NotEmpty(w, w.reads())
		require.NoError(w, w.informer.WaitForShard(w.Context()))
		require.Equal(w, []string{"green/early"}, w.keys())
	})
}

// A reader that meets the change would take an object for absent that exists, because another
// replica has it or because it isn't listed yet.
func TestAReadInTheMiddleOfAChangeTakesNothingForAbsent(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		looks := 0
		look := func(found []string, _ *corev1.ConfigMap) []string {
			for _, namespace := range []string{"red", "blue"} {
				_, found, kept := w.informer.Get(Key{Namespace: namespace, Name: "early"})
				require.False(w, kept && !found, "%s/early exists", namespace)
				looks++
			}
			return found
		}
		_, err := w.informer.store.AddIndex("look", look)
		require.NoError(w, err)
		before := looks
		w.keep("blue")
		require.Greater(w, looks, before)
		for namespace, keeps := range map[string]bool{"blue": true, "red": false} {
			_, found, kept := w.informer.Get(Key{Namespace: namespace, Name: "early"})
			require.Equal(w, keeps, found)
			require.Equal(w, keeps, kept)
			require.Equal(w, keeps, w.informer.Keeps(namespace))
		}
		_, found, kept := w.informer.Get(Key{Namespace: "blue", Name: "never"})
		require.False(w, found)
		require.True(w, kept, "this one is absent")
	})
}

// A handler would otherwise hear of all objects of a replica whenever one namespace comes.
func TestWhatStaysInTheShardNeitherLeavesNorComes(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		w.keep("red", "green")
		require.Equal(w, []string{"add red/early", "add green/early"}, w.hears())
		w.keep("red", "green", "blue")
		require.Equal(w, []string{"add blue/early"}, w.hears())
	})
}

// Another process may write there as soon as Keep is called, and a list may take minutes.
func TestWhatLeavesTheShardDoesNotWaitForAList(t *testing.T) {
	withShard(t, []string{"red", "green"}, func(w *shardWorld, _ shardServer) {
		w.hears()
		for _, verb := range []string{"list", "watch"} {
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: verb, Resource: "configmaps"}, Delay: time.Minute})
		}
		began := time.Now()
		w.informer.Keep(shardOf("green", "blue"))
		require.NoError(w, w.informer.WaitForLeave(w.Context()))
		require.Zero(w, time.Since(began))
		require.Equal(w, []string{"green/early"}, w.keys())
		require.Equal(w, []string{"leave red/early"}, w.hears())

		w.informer.Keep(shardOf("green"))
		w.informer.Keep(shardOf("red", "green", "blue"))
		require.NoError(w, w.informer.WaitForLeave(w.Context()))
		require.Zero(w, time.Since(began))
		require.Equal(w, []string{"green/early"}, w.keys(), "red was elsewhere")
		require.NoError(w, w.informer.WaitForShard(w.Context()))
		require.ElementsMatch(w, []string{"red/early", "green/early", "blue/early"}, w.keys())
	})
}

// The reflector's goroutine takes objects out of the store, and it may have other things to do.
func TestWaitForLeaveWaitsUntilTheStoreHasNothingThatLeaves(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		w.informer.Keep(slowShard{namespaces{"red", "slow"}})
		require.NoError(w, w.informer.WaitForShard(w.Context()))
		w.create("slow", "late")
		synctest.Wait()
		w.informer.Keep(shardOf("blue"))
		short, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		require.ErrorIs(w, w.informer.WaitForLeave(short), context.DeadlineExceeded)
		require.NoError(w, w.informer.WaitForLeave(w.Context()))
		require.Empty(w, w.keys())
	})
}

// Whoever keeps changing must come to the last one, whatever was under way.
func TestTheLastShardWins(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		for n := range 50 {
			w.informer.Keep(shardOf([]string{"red", "green", "blue"}[n%3]))
			time.Sleep(time.Duration(n%4) * time.Millisecond / 2)
		}
		w.keep("green", "blue")
		require.ElementsMatch(w, []string{"green/early", "blue/early"}, w.keys())
		known := map[string]bool{}
		for _, heard := range w.hears() {
			var what, key string
			_, err := fmt.Sscan(heard, &what, &key)
			require.NoError(w, err)
			require.Contains(w, []string{"add", "leave"}, what)
			require.Equal(w, what == "leave", known[key], "%s", heard)
			known[key] = what == "add"
		}
	})
}
