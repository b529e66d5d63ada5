package informer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// callList is a list of things to do, each of which is in it once, and one worker who does them.
// It is the least of what a workqueue is.
type callList[K comparable] struct {
	mu    sync.Mutex // guards items
	items []K
	news  chan struct{} // sent to by add, received by work; one, because work looks at all items
}

func newCallList[K comparable]() *callList[K] { return &callList[K]{news: make(chan struct{}, 1)} }

func (c *callList[K]) add(item K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.items, item) {
		c.items = append(c.items, item)
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c *callList[K]) work(end <-chan struct{}, reconcile func(K)) {
	for {
		c.mu.Lock()
		items := c.items
		c.items = nil
		c.mu.Unlock()
		for _, item := range items {
			reconcile(item)
		}
		if len(items) > 0 {
			continue
		}
		select {
		case <-c.news:
		case <-end:
			return
		}
	}
}

// children is a cluster with pods that have owners, are ready or not, come and go. The informer's
// queue gets what a watch would bring.
type children struct {
	random *rand.Rand
	i      *Informer[*corev1.Pod]
	there  map[string]*corev1.Pod
	writes int
}

var (
	owners     = []string{"A", "B", "C"}
	childNames = []string{"pod-0", "pod-1", "pod-2", "pod-3"}
)

func ownerOf(pod *corev1.Pod) string { return pod.Labels["owner"] }
func isReady(pod *corev1.Pod) bool   { return len(pod.Status.Conditions) > 0 }

// write makes one of four pods, changes one of its properties, or deletes it.
func (c *children) write() {
	c.writes++
	name := childNames[c.random.IntN(len(childNames))]
	was, exists := c.there[name]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
		UID:    types.UID(fmt.Sprint(c.writes)),
		Labels: map[string]string{"owner": owners[c.random.IntN(len(owners))]}}}
	event := watch.Added
	if exists {
		event, pod = watch.Modified, was.DeepCopy()
		switch c.random.IntN(4) {
		case 0:
			pod.Labels["owner"] = owners[c.random.IntN(len(owners))]
		case 1, 2:
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}}[:1-len(was.Status.Conditions)]
		case 3:
			event = watch.Deleted
		}
	}
	pod.ResourceVersion = fmt.Sprint(c.writes)
	if c.there[name] = pod; event == watch.Deleted {
		delete(c.there, name)
	}
	informerSink[*corev1.Pod]{c.i}.Apply(Event[*corev1.Pod]{Type: event, Object: pod,
		ResourceVersion: pod.ResourceVersion})
}

// controller is a reconciler that looks into the store, and records what it saw last of each of its
// items. handler calls it for an item when something has happened to a pod.
type controller struct {
	items   []string
	handler func(add func(item string)) HandlerFuncs[*corev1.Pod]
	isAbout func(item string, pod *corev1.Pod) bool
}

// ofOwners is like that of ReplicaSets: it needs to know which pods an owner has, and which of them
// are ready, and does not look at an owner again when anything else has changed.
var ofOwners = controller{
	items:   owners,
	isAbout: func(owner string, pod *corev1.Pod) bool { return ownerOf(pod) == owner },
	handler: func(add func(owner string)) HandlerFuncs[*corev1.Pod] {
		return HandlerFuncs[*corev1.Pod]{
			Add: func(pod *corev1.Pod, _ bool) { add(ownerOf(pod)) },
			Update: func(old, pod *corev1.Pod) {
				if ownerOf(old) != ownerOf(pod) || isReady(old) != isReady(pod) {
					add(ownerOf(old))
					add(ownerOf(pod))
				}
			},
			Delete: func(pod *corev1.Pod, _ bool) { add(ownerOf(pod)) },
		}
	},
}

// ofPods looks at the pods themselves, and its handler at nothing but their names.
var ofPods = controller{
	items:   childNames,
	isAbout: func(name string, pod *corev1.Pod) bool { return pod.Name == name },
	handler: func(add func(name string)) HandlerFuncs[*corev1.Pod] {
		return HandlerFuncs[*corev1.Pod]{
			Add:    func(pod *corev1.Pod, _ bool) { add(pod.Name) },
			Update: func(_, pod *corev1.Pod) { add(pod.Name) },
			Delete: func(pod *corev1.Pod, _ bool) { add(pod.Name) },
		}
	},
}

// look is what a reconciler sees of an item.
func (c controller) look(item string, pods []*corev1.Pod) string {
	var seen []string
	for _, pod := range pods {
		if c.isAbout(item, pod) {
			seen = append(seen, fmt.Sprintf("%s of %s, ready: %v", pod.Name, ownerOf(pod), isReady(pod)))
		}
	}
	slices.Sort(seen)
	return fmt.Sprint(seen)
}

// play runs a controller through quiet and busy times. In a busy one pods change, the handler is
// late at random, and the controller looks at its items for other reasons, too. In a quiet one
// there is time for everything; then what it saw last must be what is there. It returns what is
// not.
func (c controller) play(t *testing.T, seed uint64, options HandlerOptions) (lost []string) {
	synctest.Test(t, func(t *testing.T) {
		random, late := rand.New(rand.NewPCG(seed, 0x6f776e)), rand.New(rand.NewPCG(seed, 1))
		i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{})
		cluster := &children{random: random, i: i, there: map[string]*corev1.Pod{}}
		todo := newCallList[string]()
		_, err := i.AddHandler(c.handler(func(item string) {
			time.Sleep(time.Duration(late.IntN(200)) * time.Millisecond)
			todo.add(item)
		}), options)
		require.NoError(t, err)
		i.startHandlers()
		defer i.stopHandlers()
		informerSink[*corev1.Pod]{i}.Replace(nil, "1")
		saw := map[string]string{}
		end := make(chan struct{})
		var working sync.WaitGroup
		defer working.Wait()
		defer close(end)
		working.Go(func() {
			todo.work(end, func(item string) { saw[item] = c.look(item, slices.Collect(i.Store().All())) })
		})
		for range 10 {
			for range 12 {
				cluster.write()
				time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
				if random.IntN(2) == 0 {
					todo.add(c.items[random.IntN(len(c.items))]) // for another reason
				}
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			for _, item := range c.items {
				is := c.look(item, slices.Collect(maps.Values(cluster.there)))
				if was, looked := saw[item]; is != was && (looked || is != "[]") {
					lost = append(lost, fmt.Sprintf("after %d writes the controller saw %s last of %s, and "+
						"there is %s", cluster.writes, was, item, is))
				}
			}
		}
	})
	return lost
}

// A controller that was called for another reason has looked into the store, and has counted a pod
// that is gone by now, or not ready. Nobody but the handler will call it again.
func TestALateHandlerLeavesNoOwnerWithAnOldView(t *testing.T) {
	for seed := range uint64(300) {
		require.Empty(t, ofOwners.play(t, seed, HandlerOptions{}), "seed %d", seed)
	}
}

// This is why Coalesce is not the default: what the test above demands is lost with it.
func TestCoalesceLosesOwnersIfTheHandlerLooksAtMoreThanTheKey(t *testing.T) {
	lost := 0
	for seed := range uint64(300) {
		lost += len(ofOwners.play(t, seed, HandlerOptions{Coalesce: true}))
	}
	require.Greater(t, lost, 10, "hardly anything is lost, so the test above proves little")
}

// And this is what Coalesce is for: a handler that looks at nothing but the key loses nothing, not
// even pods that came and went before it heard of them.
func TestCoalesceLosesNothingIfTheHandlerLooksAtTheKeyOnly(t *testing.T) {
	for seed := range uint64(300) {
		require.Empty(t, ofPods.play(t, seed, HandlerOptions{Coalesce: true}), "seed %d", seed)
	}
}
