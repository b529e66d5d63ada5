package hostile_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/trace"
)

// world is an in-memory API server behind a hostile network, and what uses it: the component that a
// cell is about, through the network, and users and kubelets, past it.
type world struct {
	testing.TB
	Server  *fakeapi.Server
	Network *hostile.Network
	User    client.WithWatch
	Trace   *trace.Recorder
	Log     logr.Logger // of the component

	// what the stories of some components are about
	view    *view
	leaders *leaders
	begin   chan struct{} // closed when the story's program is to write
	lose    chan struct{} // closed when it is to write what a restored backup lacks
	again   chan struct{} // closed when its client has to be right again after that

	ctx   context.Context // ends before the server does
	stop  context.CancelFunc
	parts sync.WaitGroup

	mu     sync.Mutex // guards the rest
	said   []string   // log lines, and whatever else a component says aloud
	broken []string   // promises
	struck time.Time  // when the fault began; zero before
	// rewound: the server was restored from a backup.
	rewound bool
	gone    map[string]int
	ours    map[string]bool // UIDs that were there, or that users have made
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, Trace: trace.New(1 << 14), gone: map[string]int{}, ours: map[string]bool{},
		begin: make(chan struct{}), lose: make(chan struct{}), again: make(chan struct{})}
	w.Server = fakeapi.New(fakeapi.Options{
		NoManagedFields: true, WatchTimeout: 10_000 * time.Hour, Kinds: []fakeapi.Kind{widgets},
		Front: func(http.Handler) http.Handler { return w.Network },
	})
	w.Network = hostile.New(w.Server)
	w.Network.Latency = 10 * time.Millisecond
	w.Log = funcr.New(func(prefix, args string) { w.say(prefix + " " + args) }, funcr.Options{})
	slog.SetDefault(slog.New(logr.ToSlogHandler(w.Log))) // mini's controllers log there
	klog.SetLogger(w.Log)                                // and client-go here
	direct := &rest.Config{
		Host: "http://fakeapi", Transport: w.Server.Transport(), QPS: -1,
		WarningHandlerWithContext: rest.NoWarnings{},
	}
	var err error
	w.User, err = client.NewWithWatch(direct, client.Options{})
	require.NoError(t, err)
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// end stops everything.
func (w *world) end() {
	w.stop()
	w.Network.Close()
	w.parts.Wait()
	w.Server.Close()
}

// config is the way to the server through the network.
func (w *world) config() *rest.Config {
	config := w.Server.Config()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config
}

// run runs a part of the component until the world ends. Nothing ends earlier: whatever the network
// does, a component carries on.
func (w *world) run(part func(context.Context) error) {
	w.parts.Go(func() {
		err := part(w.ctx)
		if w.ctx.Err() == nil {
			w.breaks("a part has ended, and would need a restart: %v", err)
		}
	})
}

func (w *world) say(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, line)
}

// breaks notes a broken promise.
func (w *world) breaks(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if promise := fmt.Sprintf(format, args...); !slices.Contains(w.broken, promise) {
		w.broken = append(w.broken, promise)
	}
}

// lately are the things that were said, for a failure.
func (w *world) lately() string {
	w.mu.Lock()
	said := slices.Clone(w.said)
	w.mu.Unlock()
	for _, e := range w.Trace.Events() {
		if e.Reason != "" && e.At >= w.struck.Sub(w.Trace.Started()) {
			said = append(said, e.Layer+": "+e.Reason)
		}
	}
	slices.Sort(said)
	said = slices.Compact(said)
	return strings.Join(said[:min(12, len(said))], "\n")
}

// hasSaid reports whether an error, a log line or the flight recorder shows one of these texts.
func (w *world) hasSaid(texts []string) bool {
	w.mu.Lock()
	said := slices.Clone(w.said)
	w.mu.Unlock()
	for _, e := range w.Trace.Events() {
		said = append(said, e.Reason)
	}
	for _, line := range said {
		for _, text := range texts {
			if strings.Contains(strings.ToLower(line), strings.ToLower(text)) {
				return true
			}
		}
	}
	return false
}

// must is for what users do.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// create lets a user create objects.
func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, object := range objects {
		w.must(w.User.Create(w.ctx, object))
		w.mu.Lock()
		w.ours[string(object.GetUID())] = true
		w.mu.Unlock()
	}
}

// edit lets a user change an object.
func edit[T client.Object](w *world, object T, change func(T)) {
	w.Helper()
	for {
		w.must(w.User.Get(w.ctx, client.ObjectKeyFromObject(object), object))
		change(object)
		err := w.User.Update(w.ctx, object)
		if err == nil {
			return
		}
		if !isConflict(err) {
			w.Fatal(err)
		}
	}
}

// classOf is what an object is called, whatever the server has generated.
func classOf(o client.Object) string {
	name := o.GetName()
	if o.GetGenerateName() != "" {
		name = o.GetGenerateName() + "*"
	}
	return fmt.Sprintf("%s %s/%s", kindOf(o), o.GetNamespace(), name)
}

// judge counts, from now on, the deletions of objects that were there before the fault or that
// users have made. What the component made during the fault it may take back: after a lost answer,
// a controller may have made one Pod too many.
func (w *world) judge(lists ...client.ObjectList) {
	for _, list := range lists {
		watching, err := w.User.Watch(w.ctx, list)
		w.must(err)
		w.parts.Go(func() {
			for {
				w.count(watching.ResultChan())
				if w.ctx.Err() != nil {
					return
				}
				if watching, err = w.User.Watch(w.ctx, list); err != nil {
					return // the world has ended
				}
			}
		})
	}
}

// count counts the deletions that a watch shows, until it ends.
func (w *world) count(events <-chan watch.Event) {
	dying := map[string]bool{}
	for event := range events {
		o, ok := event.Object.(client.Object)
		if !ok || event.Type == watch.Bookmark {
			continue
		}
		w.mu.Lock()
		uid := string(o.GetUID())
		if w.struck.IsZero() {
			w.ours[uid] = true
		}
		ends := event.Type == watch.Deleted || o.GetDeletionTimestamp() != nil
		if ends && !dying[uid] && w.ours[uid] {
			dying[uid] = true
			w.gone[classOf(o)]++
		}
		w.mu.Unlock()
	}
}

// forget forgets what was deleted before the server was restored: what matters is what becomes of
// the objects that there are now.
func (w *world) forget(lists ...client.ObjectList) {
	ours := map[string]bool{}
	for _, list := range lists {
		w.must(w.User.List(w.ctx, list))
		w.must(meta.EachListItem(list, func(item runtime.Object) error {
			ours[string(item.(client.Object).GetUID())] = true
			return nil
		}))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rewound, w.gone, w.ours = true, map[string]int{}, ours
}

// collect is the garbage collector, for Pods only: after a restore, a controller may have made some
// for an owner that the backup lacks.
func (w *world) collect() {
	owners := map[types.UID]bool{}
	for _, list := range []client.ObjectList{&appsv1.ReplicaSetList{}, &appsv1.DaemonSetList{},
		&appsv1.StatefulSetList{}, &batchv1.JobList{}} {
		w.must(w.User.List(w.ctx, list))
		w.must(meta.EachListItem(list, func(item runtime.Object) error {
			owners[item.(client.Object).GetUID()] = true
			return nil
		}))
	}
	var pods corev1.PodList
	w.must(w.User.List(w.ctx, &pods))
	for _, pod := range pods.Items {
		owner := metav1.GetControllerOf(&pod)
		if owner != nil && !owners[owner.UID] && pod.DeletionTimestamp == nil {
			w.must(client.IgnoreNotFound(w.User.Delete(w.ctx, &pod)))
		}
	}
}

// isRewound reports whether the server was restored from a backup.
func (w *world) isRewound() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rewound
}

// strike begins the attack of a cell, and makes the component do what the attack is on.
// A component that discovers asks discovery by itself. Others do when their watches and lists get 404s.
func (w *world) strike(c cell, discovers bool) (hits func() int) {
	w.mu.Lock()
	w.struck = time.Now()
	w.said = nil
	w.mu.Unlock()
	if c.fault.Name == "" {
		return func() int { return 1 }
	}
	hits = w.Network.Begin(hostile.Attack{
		Fault: c.fault, On: c.on, For: c.lasts, Carried: c.carried,
	})
	switch {
	case c.on == hostile.List, c.on == hostile.Everything:
		w.Network.Relist()
	case c.on == hostile.Discovery && !discovers:
		for _, on := range []hostile.Op{hostile.List, hostile.Watch} {
			w.Network.Begin(hostile.Attack{
				Fault: hostile.Find("text404"), On: on, For: c.lasts,
			})
		}
		w.Network.Relist()
	}
	return hits
}
