package hostile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/mini"
)

// view is what handlers know. What one hears of a deletion is compared with the server at once.
type view struct {
	w    *world
	mu   sync.Mutex // guards seen
	seen map[string]string
}

func newView(w *world) *view {
	w.view = &view{w: w, seen: map[string]string{}}
	return w.view
}

func (v *view) set(o client.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen[string(o.GetUID())] = describe(o)
}

func (v *view) drop(o client.Object) {
	there := o.DeepCopyObject().(client.Object)
	err := v.w.User.Get(context.Background(), client.ObjectKeyFromObject(o), there)
	if err == nil && there.GetUID() == o.GetUID() {
		v.w.breaks("a handler heard that %s was deleted, and it's there", describe(o))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.seen, string(o.GetUID()))
}

func (v *view) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var lines []string
	for _, line := range v.seen {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// watching: there are three ConfigMaps. During the fault a fourth one comes, one changes and one
// goes; after it, one comes and one changes.
var watching = story{
	kinds: lists(&corev1.ConfigMapList{}),
	before: func(w *world) {
		w.create(configMap("a"), configMap("b"), configMap("c"), pod("p"), widget("w"))
	},
	during: func(w *world) {
		w.create(configMap("d"))
		edit(w, configMap("a"), setData("changed"))
		w.must(w.User.Delete(w.ctx, configMap("b")))
	},
	after: func(w *world) {
		w.create(configMap("e"))
		edit(w, configMap("c"), setData("changed, too"))
	},
	state: func(w *world) string { return w.view.String() },
}

func setData(to string) func(*corev1.ConfigMap) {
	return func(m *corev1.ConfigMap) { m.Data = map[string]string{"data": to} }
}

func configMap(name string) *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: named(name)} }

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named(name), Spec: template("v1").Spec}
}

func widget(name string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetAPIVersion("example.com/v1")
	made.SetKind("Widget")
	made.SetNamespace("default")
	made.SetName(name)
	return made
}

func startInformer(w *world) {
	from, err := informer.NewListWatch[*corev1.ConfigMap](w.config(),
		corev1.SchemeGroupVersion.WithResource("configmaps"), informer.ListWatchOptions{})
	require.NoError(w, err)
	i := informer.NewInformer(from, informer.InformerOptions[*corev1.ConfigMap]{Recorder: w.Trace})
	v := newView(w)
	_, err = i.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{
		Add:    func(o *corev1.ConfigMap, _ bool) { v.set(o) },
		Update: func(_, o *corev1.ConfigMap) { v.set(o) },
		Delete: func(o *corev1.ConfigMap, _ bool) { v.drop(o) },
	}, informer.HandlerOptions{Name: "view"})
	require.NoError(w, err)
	w.run(i.Run)
	w.parts.Go(func() { // a program asks for its health now and then
		for w.ctx.Err() == nil {
			select {
			case <-w.ctx.Done():
			case <-time.After(time.Second):
				w.say(fmt.Sprint(i.Health().LastError))
			}
		}
	})
}

func startCache(w *world) {
	c, err := cache.New(w.config(), cache.Options{Logger: &w.Log, Recorder: w.Trace})
	require.NoError(w, err)
	v := newView(w)
	for _, kind := range []client.Object{&corev1.ConfigMap{}, &corev1.Pod{}, widget("")} {
		i, err := c.GetInformer(w.ctx, kind, cache.BlockUntilSynced(false))
		require.NoError(w, err)
		_, err = i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { v.set(o.(client.Object)) },
			UpdateFunc: func(_, o any) { v.set(o.(client.Object)) },
			DeleteFunc: func(o any) {
				if unknown, ok := o.(informer.DeletedFinalStateUnknown); ok {
					o = unknown.Obj
				}
				v.drop(o.(client.Object))
			},
		})
		require.NoError(w, err)
	}
	w.run(c.Start)
	// A program reads all the time, and a read mustn't fail because discovery did.
	w.parts.Go(func() {
		for w.ctx.Err() == nil {
			select {
			case <-w.ctx.Done():
			case <-time.After(5 * time.Second):
				var got corev1.PodList
				ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
				err := c.List(ctx, &got)
				cancel()
				if w.ctx.Err() == nil && (err != nil || len(got.Items) == 0) {
					w.breaks("a read of the cache has %d Pods, and the error %v",
						len(got.Items), err)
				}
			}
		}
	})
}

func startMiniInformer(w *world) {
	lw, err := w.miniCluster().ListWatch(&corev1.ConfigMap{}, "")
	require.NoError(w, err)
	i := mini.NewSharedInformer(lw, nil)
	i.Trace = w.Trace
	v := newView(w)
	i.AddHandler(func(change mini.Change) {
		if change.New == nil {
			v.drop(change.Old.(client.Object))
			return
		}
		v.set(change.New.(client.Object))
	})
	w.run(i.Run)
}

// emptying: a namespace with a Secret, ConfigMaps and a Pod is deleted during the fault, and another
// one after it. Nothing may stay behind in either, and everything else stays.
var emptying = story{
	discovers: true,
	kinds:     lists(&corev1.NamespaceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}),
	before: func(w *world) {
		for _, namespace := range []string{"during", "after", "kept"} {
			w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
			secret := &corev1.Secret{ObjectMeta: named("secret")}
			secret.Namespace = namespace
			data, p := configMap("data"), pod("pod")
			data.Namespace, p.Namespace = namespace, namespace
			w.create(secret, data, p)
		}
	},
	during: func(w *world) { deleteNamespace(w, "during") },
	after:  func(w *world) { deleteNamespace(w, "after") },
	state: dump(lists(&corev1.NamespaceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{},
		&corev1.PodList{})),
}

func deleteNamespace(w *world, name string) {
	w.must(w.User.Delete(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// cronJobs: a CronJob starts a Job each minute. In the end, it still does, and no two Jobs are of
// the same minute. The history's limits delete Jobs by the clock.
var cronJobs = story{
	kinds:   lists(&batchv1.CronJobList{}, &batchv1.JobList{}),
	kubelet: true,
	churns:  []string{"Job", "Pod"},
	before: func(w *world) {
		template := batchv1.JobTemplateSpec{Spec: job("").Spec}
		template.Spec.Completions = new(int32(1))
		w.create(&batchv1.CronJob{ObjectMeta: named("tick"), Spec: batchv1.CronJobSpec{
			Schedule: "* * * * *", JobTemplate: template,
			ConcurrencyPolicy: batchv1.ForbidConcurrent,
		}})
		// The fault, which comes in half a minute, begins two seconds before the next Job is due.
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(88 * time.Second)))
	},
	during: func(*world) {},
	after:  func(*world) {},
	state: func(w *world) string {
		var all batchv1.JobList
		w.must(w.User.List(w.ctx, &all))
		newest := time.Time{}
		for _, j := range all.Items {
			if j.CreationTimestamp.After(newest) {
				newest = j.CreationTimestamp.Time
			}
		}
		return fmt.Sprintln("a Job was started in the last two minutes:",
			time.Since(newest) < 2*time.Minute)
	},
}

// daemons: a DaemonSet runs on two nodes. During the fault a third one comes, and one more after it.
var daemons = story{
	kinds:   lists(&appsv1.DaemonSetList{}, &corev1.PodList{}),
	kubelet: true,
	before: func(w *world) {
		w.create(node("n0"), node("n1"), &appsv1.DaemonSet{
			ObjectMeta: named("web"),
			Spec:       appsv1.DaemonSetSpec{Selector: selector(), Template: template("v1")},
		})
	},
	during: func(w *world) { w.create(node("n2")) },
	after:  func(w *world) { w.create(node("n3")) },
	state:  dump(lists(&appsv1.DaemonSetList{}, &corev1.PodList{})),
}

func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// stateful: a StatefulSet of two gets a new image during the fault and a third Pod after it.
var stateful = story{
	kinds:   lists(&appsv1.StatefulSetList{}, &corev1.PodList{}),
	kubelet: true,
	before: func(w *world) {
		w.create(&appsv1.StatefulSet{ObjectMeta: named("web"), Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)), Selector: selector(), Template: template("v1"),
			ServiceName: "web",
		}})
	},
	during: func(w *world) {
		edit(w, &appsv1.StatefulSet{ObjectMeta: named("web")}, func(s *appsv1.StatefulSet) {
			s.Spec.Template = template("v2")
		})
	},
	after: func(w *world) {
		edit(w, &appsv1.StatefulSet{ObjectMeta: named("web")}, func(s *appsv1.StatefulSet) {
			s.Spec.Replicas = new(int32(3))
		})
	},
	state: dump(lists(&appsv1.StatefulSetList{}, &corev1.PodList{})),
}

// nodes: two nodes renew their leases all the time, and each has a Pod. During the fault a user
// taints one, whose Pod tolerates it for five minutes, and takes the taint off after it. A third
// node is dead from then on.
var nodes = story{
	kinds:   lists(&corev1.NodeList{}, &corev1.PodList{}),
	kubelet: true,
	before: func(w *world) {
		for _, name := range []string{"n0", "n1", "n2"} {
			w.create(node(name))
			heartbeat(w, name)
		}
		w.create(pod("a"), pod("b"))
		w.parts.Go(func() {
			for w.ctx.Err() == nil {
				select {
				case <-w.ctx.Done():
					return
				case <-time.After(10 * time.Second):
				}
				heartbeat(w, "n0")
				heartbeat(w, "n1")
				w.mu.Lock()
				alive := w.struck.IsZero()
				w.mu.Unlock()
				if alive {
					heartbeat(w, "n2")
				}
			}
		})
	},
	during: func(w *world) { taint(w, corev1.Taint{Key: "t", Effect: corev1.TaintEffectNoExecute}) },
	after:  func(w *world) { taint(w) },
	state:  dump(lists(&corev1.NodeList{}, &corev1.PodList{})),
}

func taint(w *world, taints ...corev1.Taint) {
	for i := range taints {
		taints[i].TimeAdded = new(metav1.Now())
	}
	edit(w, node("n0"), func(n *corev1.Node) { n.Spec.Taints = taints })
}

// heartbeat is what a kubelet does every ten seconds: it renews its node's lease, and says that the
// node is ready, if the server shows something else.
func heartbeat(w *world, name string) {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: name}
	err := w.User.Get(w.ctx, key, lease)
	now := metav1.NowMicro()
	lease.Spec.RenewTime = &now
	if apierrors.IsNotFound(err) {
		lease.Namespace, lease.Name = key.Namespace, key.Name
		w.must(w.User.Create(w.ctx, lease))
	} else if err == nil {
		_ = w.User.Update(w.ctx, lease)
	}
	n := node(name)
	if w.User.Get(w.ctx, client.ObjectKeyFromObject(n), n) != nil {
		return // the world has ended
	}
	if all := n.Status.Conditions; len(all) == 0 || all[0].Status != corev1.ConditionTrue {
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(),
		}}
		_ = w.User.Status().Update(w.ctx, n)
	}
}
