package informer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/informer"
)

// What a reader of one object suffers while an informer lists a whole collection again. One
// operation is a relist: from the list's answer until a handler was told of what has changed. The
// reflector's pause before it, about a second on both sides, isn't counted.
//
// blocked-ms is how long the reader was blocked by a lock in a relist, all in all,
// by Go's own account: the block profile. That is what the informer does to it.
//
// stall-ms is the longest single read in a relist, on the wall clock, and the median
// of all relists: with the garbage collector off and the reader on an operating
// system's thread of its own, for what they do to a reader is not the informer's doing.
// Other processes on the machine still have their share. How large it is, the row
// no-store shows, whose reader reads nothing.
//
// Because the collector is off, B/op is also what a relist needs in memory beside what is there.
func BenchmarkStoreStall(b *testing.B) {
	sizes := []int{5_000, 20_000, 50_000, 150_000}
	if testing.Short() {
		sizes = []int{1_000}
	}
	for _, size := range sizes {
		b.Run(fmt.Sprintf("objects=%d", size), func(b *testing.B) { stallWith(b, size) })
	}
}

func stallWith(b *testing.B, size int) {
	key := informer.KeyOf(pod(7))
	b.Run("ours", func(b *testing.B) {
		lists := newRelists(size)
		i := lists.runOurs(b)
		lists.measureStall(b, func() { i.Store().Get(key) })
	})
	b.Run("no-store", func(b *testing.B) {
		lists := newRelists(size)
		lists.runOurs(b)
		lists.measureStall(b, func() {})
	})
	b.Run("client-go", func(b *testing.B) {
		lists := newRelists(size)
		i := lists.runTheirs(b)
		lists.measureStall(b, func() { _, _, _ = i.GetIndexer().GetByKey(key.String()) })
	})
}

// relists is a collection whose watches bring nothing, and end with 410 when the test says so. Each
// list repeats all objects, as others that say the same, and changes the first one.
type relists struct {
	size  int
	lists int
	next  *corev1.PodList // made before the clock runs

	expire  chan struct{} // sent to by the test, received by the watch
	asked   chan struct{} // sent to by the list, received by the test
	answers chan struct{} // sent to by the test, received by the list
	told    chan struct{} // sent to by the handler when the first object has changed
}

func newRelists(size int) *relists {
	r := &relists{size: size, expire: make(chan struct{}), asked: make(chan struct{}),
		answers: make(chan struct{}), told: make(chan struct{})}
	r.prepare()
	return r
}

func (r *relists) prepare() {
	r.lists++
	r.next = &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: r.version()}}
	for _, pod := range somePods(r.size) {
		r.next.Items = append(r.next.Items, *pod)
	}
	r.next.Items[0].ResourceVersion = r.version()
}

func (r *relists) version() string { return fmt.Sprint(1_000_000 + r.lists) }

func (r *relists) wait() *corev1.PodList {
	r.asked <- struct{}{}
	<-r.answers
	return r.next
}

func (r *relists) tell(old, changed *corev1.Pod) {
	if old.ResourceVersion != changed.ResourceVersion {
		r.told <- struct{}{}
	}
}

// runOurs returns an informer of ours that has the first list.
func (r *relists) runOurs(b *testing.B) *informer.Informer[*corev1.Pod] {
	i := informer.NewInformer(informer.ListerWatcher[*corev1.Pod](ourRelists{r}),
		informer.InformerOptions[*corev1.Pod]{Reflector: informer.ReflectorOptions{NoStream: true}})
	if _, err := i.Store().AddIndex("node", func(values []string, pod *corev1.Pod) []string {
		return append(values, pod.Spec.NodeName)
	}); err != nil {
		b.Fatal(err)
	}
	if _, err := i.AddHandler(informer.HandlerFuncs[*corev1.Pod]{Update: r.tell}, informer.HandlerOptions{}); err != nil {
		b.Fatal(err)
	}
	go func() { _ = i.Run(b.Context()) }()
	<-r.asked
	r.answers <- struct{}{}
	if err := i.WaitForSync(b.Context()); err != nil {
		b.Fatal(err)
	}
	return i
}

// ourRelists is the collection as this library reads it.
type ourRelists struct{ *relists }

func (r ourRelists) List(context.Context, metav1.ListOptions) (*informer.List[*corev1.Pod], error) {
	list := r.wait()
	items := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		items[i] = &list.Items[i]
	}
	return &informer.List[*corev1.Pod]{Items: items, ResourceVersion: list.ResourceVersion}, nil
}

func (r ourRelists) Watch(ctx context.Context, _ metav1.ListOptions) (informer.Watch[*corev1.Pod], error) {
	return expiringWatch{ctx, r.expire}, nil
}

type expiringWatch struct {
	ctx    context.Context
	expire <-chan struct{}
}

func (w expiringWatch) Next() (informer.Event[*corev1.Pod], error) {
	select {
	case <-w.expire:
		return informer.Event[*corev1.Pod]{}, apierrors.NewResourceExpired("history is compacted")
	case <-w.ctx.Done():
		return informer.Event[*corev1.Pod]{}, io.EOF
	}
}

func (w expiringWatch) Close() error { return nil }

// runTheirs returns an informer of client-go that has the first list.
func (r *relists) runTheirs(b *testing.B) cache.SharedIndexInformer {
	i := cache.NewSharedIndexInformer(theirRelists{r}, &corev1.Pod{}, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		"node": func(object any) ([]string, error) {
			return []string{object.(*corev1.Pod).Spec.NodeName}, nil
		},
	})
	if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, changed any) {
		r.tell(old.(*corev1.Pod), changed.(*corev1.Pod))
	}}); err != nil {
		b.Fatal(err)
	}
	go i.Run(b.Context().Done())
	<-r.asked
	r.answers <- struct{}{}
	if !cache.WaitForCacheSync(b.Context().Done(), i.HasSynced) {
		b.Fatal("client-go's informer didn't sync")
	}
	return i
}

// theirRelists is the collection as client-go reads it.
type theirRelists struct{ *relists }

// IsWatchListSemanticsUnSupported makes client-go list, as ours is made to.
func (theirRelists) IsWatchListSemanticsUnSupported() bool { return true }

func (r theirRelists) List(metav1.ListOptions) (kruntime.Object, error) { return r.wait(), nil }

func (r theirRelists) Watch(metav1.ListOptions) (watch.Interface, error) {
	w := watch.NewFake()
	go func() {
		<-r.expire
		status := apierrors.NewResourceExpired("history is compacted").Status()
		w.Error(&status)
	}()
	return w, nil
}

func (r *relists) measureStall(b *testing.B, get func()) {
	runtime.SetBlockProfileRate(1) // every event
	defer runtime.SetBlockProfileRate(0)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	reader := &stalledReader{finished: make(chan struct{}), done: make(chan struct{})}
	before := reader.blocked()
	go reader.read(get)
	var stalls []int64
	var took time.Duration
	for b.Loop() {
		b.StopTimer()
		r.prepare()
		runtime.GC()
		b.StartTimer() // for the pause, too: it grows from relist to relist, so there must be few
		r.expire <- struct{}{}
		<-r.asked
		reader.longest.Store(0)
		began := time.Now()
		r.answers <- struct{}{}
		<-r.told
		<-reader.finished // a reader that is still stalled must notice
		took += time.Since(began)
		stalls = append(stalls, reader.longest.Load())
	}
	reader.stop.Store(true)
	<-reader.done
	slices.Sort(stalls)
	b.ReportMetric(float64(took)/float64(len(stalls)), "ns/op") // without the pauses
	b.ReportMetric(float64(stalls[len(stalls)/2])/1e6, "stall-ms")
	b.ReportMetric(1000*(reader.blocked()-before)/float64(len(stalls)), "blocked-ms")
}

// stalledReader reads all the time, and notes the longest read.
type stalledReader struct {
	stop     atomic.Bool
	longest  atomic.Int64
	finished chan struct{} // sent to by read after each one, if somebody waits for it
	done     chan struct{} // closed by read
}

func (r *stalledReader) read(get func()) {
	defer close(r.done)
	runtime.LockOSThread()
	for !r.stop.Load() {
		began := time.Now()
		get()
		if took := int64(time.Since(began)); took > r.longest.Load() {
			r.longest.Store(took)
		}
		select {
		case r.finished <- struct{}{}:
		default:
		}
	}
}

// blocked is for how many seconds readers of this kind were blocked since the
// process began. The profile's text tells how long a cycle is, and where each one
// was spent.
func (r *stalledReader) blocked() (seconds float64) {
	var text bytes.Buffer
	if err := pprof.Lookup("block").WriteTo(&text, 1); err != nil {
		panic(err)
	}
	var perSecond, cycles, events float64
	for _, place := range strings.Split(text.String(), "\n\n") {
		for line := range strings.Lines(place) {
			_, _ = fmt.Sscanf(line, "cycles/second=%f", &perSecond)
			_, _ = fmt.Sscanf(line, "%f %f @", &cycles, &events)
			if strings.Contains(line, "(*stalledReader).read+") {
				seconds += cycles / perSecond
				break
			}
		}
	}
	return seconds
}
