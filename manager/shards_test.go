package manager

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// team is several replicas that share their work: for each ConfigMap they count up by one, slowly,
// until its number is the one that's wanted. Whoever reads an old number counts one twice.
type team struct {
	t      *testing.T
	server *fakeapi.Server
	live   client.Client
	all    []*teammate
	// readElsewhere is an option of the replicas that join.
	readElsewhere bool

	mu       sync.Mutex        // guards what follows
	at       map[string]string // the replica that reconciles a ConfigMap
	overlaps []string
	done     map[string]int // how many reconciles each replica has ended
}

// teammate is one replica.
type teammate struct {
	*team
	name    string
	manager *controllerManager
	stop    context.CancelFunc
	ended   chan error
}

func inTeam(t *testing.T, selects bool, test func(t *testing.T, team *team)) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(fakeapi.Options{AnyNamespace: true, ShardedListAndWatch: selects, NoManagedFields: true})
		defer api.Close()
		live, err := client.New(api.Config(), client.Options{})
		require.NoError(t, err)
		w := &team{t: t, server: api, live: live, at: map[string]string{}, done: map[string]int{}}
		defer w.end()
		test(t, w)
	})
}

// end stops the replicas that are left: a test that fails must not look like a deadlock.
func (w *team) end() {
	for _, r := range w.all {
		r.stop()
		select {
		case <-r.ended:
		case <-time.After(5 * time.Minute):
			w.t.Errorf("%s doesn't end", r.name)
		}
	}
}

const crews = 12 // namespaces

func namespaceOf(n int) string { return fmt.Sprint("team-", n) }

func (w *team) create() {
	for n := range crews {
		require.NoError(w.t, w.live.Create(w.t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(n)}}))
		for i := range 3 {
			require.NoError(w.t, w.live.Create(w.t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(n), Name: fmt.Sprint(i)},
				Data:       map[string]string{"number": "0", "counted": ""},
			}))
		}
	}
}

func (w *team) join(name string) *teammate {
	connection := w.server.Config()
	connection.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return agent{name, next} }
	m, err := New(connection, Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		Sharding:   &Sharding{ID: "counter", Namespace: "default"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Client:     client.Options{Cache: &client.CacheOptions{ReadElsewhere: w.readElsewhere}},
	})
	require.NoError(w.t, err)
	r := &teammate{team: w, name: name, manager: m.(*controllerManager), ended: make(chan error, 1)}
	c, err := controller.New("counter", m, controller.Options{
		MaxConcurrentReconciles: 40, Reconciler: reconcile.Func(r.count),
	})
	require.NoError(w.t, err)
	require.NoError(w.t, c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
		&handler.EnqueueRequestForObject{})))
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() {
		r.ended <- m.Start(ctx)
		close(r.ended)
	}()
	w.all = append(w.all, r)
	return r
}

// count is the reconciler.
func (r *teammate) count(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.String()
	r.mu.Lock()
	if other := r.at[key]; other != "" {
		r.overlaps = append(r.overlaps, r.name+" and "+other+" at "+key)
	}
	r.at[key] = r.name
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.at, key)
		r.done[r.name]++
	}()
	var object corev1.ConfigMap
	if err := r.manager.GetClient().Get(ctx, request.NamespacedName, &object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	select {
	case <-time.After(300 * time.Millisecond):
	case <-ctx.Done():
		return reconcile.Result{}, context.Cause(ctx)
	}
	object.Data["counted"] += r.name[:1]
	if err := r.manager.GetClient().Update(ctx, &object); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: time.Second}, nil
}

// has returns the namespaces in which a replica may work, and that its cache keeps.
func (r *teammate) has() []string {
	var all []string
	for n := range crews {
		_, leave, ok := r.manager.sharing.member.Gate().Enter(r.t.Context(), namespaceOf(n))
		if ok {
			leave()
			all = append(all, namespaceOf(n))
		}
		var list corev1.ConfigMapList
		err := r.manager.GetClient().List(r.t.Context(), &list, client.InNamespace(namespaceOf(n)))
		if ok || r.readElsewhere {
			require.NoError(r.t, err)
			require.Len(r.t, list.Items, 3)
		} else {
			var elsewhere *cache.ShardError
			require.ErrorAs(r.t, err, &elsewhere)
			require.False(r.t, apierrors.IsNotFound(err))
		}
	}
	return all
}

// share checks that each namespace has one replica, and that all have about as many.
func (w *team) share(replicas ...*teammate) {
	w.t.Helper()
	holders := map[string]string{}
	for _, r := range replicas {
		has := r.has()
		require.InDelta(w.t, crews/len(replicas), len(has), 1, r.name)
		for _, namespace := range has {
			require.Empty(w.t, holders[namespace], namespace)
			holders[namespace] = r.name
		}
	}
	require.Len(w.t, slices.Collect(maps.Keys(holders)), crews)
	require.Empty(w.t, w.overlaps)
}

// works checks that each ConfigMap is reconciled in the next seconds.
func (w *team) works() {
	w.t.Helper()
	before := w.counts()
	time.Sleep(5 * time.Second)
	for key, counted := range w.counts() {
		require.Greater(w.t, len(counted), len(before[key]), key)
	}
}

func (w *team) counts() map[string]string {
	var list corev1.ConfigMapList
	require.NoError(w.t, w.live.List(w.t.Context(), &list))
	all := map[string]string{}
	for _, object := range list.Items {
		all[client.ObjectKeyFromObject(&object).String()] = object.Data["counted"]
	}
	return all
}

// With one leader, two of three replicas wait, and all three hold all objects.
func TestReplicasShareTheWork(t *testing.T) {
	for _, selects := range []bool{true, false} {
		inTeam(t, selects, func(t *testing.T, w *team) {
			w.create()
			a := w.join("a")
			time.Sleep(time.Minute)
			w.share(a)
			w.works()
			b, c := w.join("b"), w.join("c")
			time.Sleep(time.Minute)
			w.share(a, b, c)
			w.works()

			t.Log("one leaves")
			b.stop()
			require.NoError(t, <-b.ended)
			time.Sleep(10 * time.Second)
			w.share(a, c)
			w.works()

			t.Log("one can't reach the API server any more")
			lift := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "a"}, Hang: true})
			require.Error(t, <-a.ended)
			time.Sleep(20 * time.Second)
			w.share(c)
			w.works()
			lift()
			c.stop()
			require.NoError(t, <-c.ended)
		})
	}
}

// A webhook is called for objects of any namespace, by whichever replica the request comes to. And a
// controller that looks into another namespace must find what's there.
func TestReadsOfAnotherReplicasNamespaces(t *testing.T) {
	inTeam(t, true, func(t *testing.T, w *team) {
		w.create()
		a := w.join("a")
		w.readElsewhere = true
		b := w.join("b")
		time.Sleep(time.Minute)
		w.readElsewhere = false
		has := map[*teammate][]string{a: a.has()}
		w.readElsewhere = true
		has[b] = b.has() // which reads all namespaces with the client
		require.Len(t, slices.Concat(has[a], has[b]), crews)
		for r, own := range has {
			var all corev1.ConfigMapList
			require.NoError(t, r.manager.GetAPIReader().List(t.Context(), &all))
			require.Len(t, all.Items, 3*crews, "a webhook's reader")
			require.NoError(t, r.manager.GetCache().List(t.Context(), &all))
			require.Len(t, all.Items, 3*len(own))
		}
		for n := range crews {
			key := client.ObjectKey{Namespace: namespaceOf(n), Name: "0"}
			require.NoError(t, b.manager.GetClient().Get(t.Context(), key, &corev1.ConfigMap{}))
			require.NoError(t, a.manager.GetAPIReader().Get(t.Context(), key, &corev1.ConfigMap{}))
			key.Name = "never"
			require.True(t, apierrors.IsNotFound(b.manager.GetClient().Get(t.Context(), key, &corev1.ConfigMap{})))
		}
	})
}

// Not every program may list namespaces. It can't know where they are then, but each has one replica.
func TestAProgramThatMayNotListNamespacesSharesThemAllTheSame(t *testing.T) {
	inTeam(t, true, func(t *testing.T, w *team) {
		w.create()
		defer w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: "namespaces"}, Status: fakeapi.Forbidden()})()
		a, b := w.join("a"), w.join("b")
		time.Sleep(time.Minute)
		require.ElementsMatch(t, slices.Concat(a.has(), b.has()), func() (all []string) {
			for n := range crews {
				all = append(all, namespaceOf(n))
			}
			return all
		}())
		for _, r := range w.all {
			require.NotEmpty(t, r.manager.sharing.member.Gate().Open(), "%s has a part of the hashes, if not of the namespaces", r.name)
		}
		w.works()
		require.Empty(t, w.overlaps)
	})
}

// What leader election kept to one process would run in all of them.
func TestARunnableThatNeedsALeaderIsRefusedWithoutAnElection(t *testing.T) {
	inTeam(t, true, func(t *testing.T, w *team) {
		a := w.join("a")
		work := RunnableFunc(func(context.Context) error { return nil })
		require.ErrorContains(t, a.manager.Add(work), "set LeaderElection, too")
		require.NoError(t, a.manager.Add(everywhere{work}))
		require.ErrorContains(t, a.manager.Add(nil), "nil")
	})
}

// everywhere is a Runnable that may run in all replicas.
type everywhere struct{ RunnableFunc }

func (everywhere) NeedLeaderElection() bool { return false }

func TestARunnableThatNeedsALeaderRunsBesideShardsIfThereIsAnElection(t *testing.T) {
	m, err := New(&rest.Config{}, Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		Sharding:       &Sharding{ID: "counter", Namespace: "default"},
		LeaderElection: true, LeaderElectionID: "leader", LeaderElectionNamespace: "default",
	})
	require.NoError(t, err)
	require.NoError(t, m.Add(RunnableFunc(func(context.Context) error { return nil })))
}

// A process that was paused wakes in the middle of a reconcile, and another replica has its objects by
// then. In a bubble nothing can be paused, so this reconcile doesn't care that its context has ended.
func TestAReplicaWritesNothingAfterItsLeaseHasRunOut(t *testing.T) {
	for _, given := range []bool{false, true} {
		inTeam(t, true, func(t *testing.T, w *team) { w.isLate(t, given) })
	}
}

// isLate plays it, with an HTTP client that the manager was given, or that it has made.
func (w *team) isLate(t *testing.T, given bool) {
	w.create()
	var options client.Options
	if given {
		options.HTTPClient = &http.Client{Transport: w.server.Transport()}
	}
	m, err := New(w.server.Config(), Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, Client: options,
		Sharding:   &Sharding{ID: "counter", Namespace: "default"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	lost := make(chan struct{})      // closed here
	inside := make(chan struct{}, 2) // one for each of two reconciles, which send
	wrote := map[string]chan error{"0": make(chan error, 1), "1": make(chan error, 1)}
	pauses := map[string]time.Duration{"0": 9 * time.Second, "1": 13 * time.Second} // it leads for 12 s
	c, err := controller.New("late", m, controller.Options{
		MaxConcurrentReconciles: 2, GracePeriod: time.Minute,
		Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			if wrote[r.Name] == nil || r.Namespace != namespaceOf(0) {
				return reconcile.Result{}, nil
			}
			select {
			case inside <- struct{}{}:
			default: // once more, because the namespace has come
				return reconcile.Result{}, nil
			}
			<-lost
			time.Sleep(pauses[r.Name])
			if r.Name == "1" {
				w.refuses(m)
			}
			made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "by-" + r.Name}}
			wrote[r.Name] <- m.GetClient().Create(context.Background(), made)
			return reconcile.Result{}, nil
		}),
	})
	require.NoError(t, err)
	require.NoError(t, c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
		&handler.EnqueueRequestForObject{})))
	ended := make(chan error, 1)
	go func() { ended <- m.Start(context.Background()) }()
	time.Sleep(time.Minute)
	require.Len(t, inside, 2)
	defer w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases"}, Hang: true})()
	close(lost)
	require.NoError(t, <-wrote["0"], "it may have the Lease still")
	require.ErrorIs(t, <-wrote["1"], ErrLate)
	require.ErrorIs(t, <-ended, leaderelection.ErrLost)
	var made corev1.ConfigMap
	key := client.ObjectKey{Namespace: namespaceOf(0), Name: "by-1"}
	require.True(t, apierrors.IsNotFound(w.live.Get(t.Context(), key, &made)))
}

// refuses checks that a replica that's late sends no write, however you write with what a manager
// has for you. Reads do no harm.
func (w *team) refuses(m Manager) {
	ctx, c, theirs := context.Background(), m.GetClient(), &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: namespaceOf(0), Name: "0"}
	assert.NoError(w.t, m.GetAPIReader().Get(ctx, key, theirs))
	patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"late":"yes"}}`))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "some"}}
	own, err := kubernetes.NewForConfig(m.GetConfig())
	assert.NoError(w.t, err)
	for what, err := range map[string]error{
		"create": c.Create(ctx, theirs.DeepCopy()), "update": c.Update(ctx, theirs.DeepCopy()),
		"patch": c.Patch(ctx, theirs.DeepCopy(), patch), "delete": c.Delete(ctx, theirs.DeepCopy()),
		"delete all":           c.DeleteAllOf(ctx, theirs.DeepCopy(), client.InNamespace(key.Namespace)),
		"apply":                c.Apply(ctx, applycorev1.ConfigMap(key.Name, key.Namespace), client.FieldOwner("late")),
		"status":               c.Status().Patch(ctx, pod, patch),
		"eviction":             c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{}),
		"a client of your own": own.CoreV1().ConfigMaps(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{}),
	} {
		assert.ErrorIs(w.t, err, ErrLate, what)
	}
	body := &closes{Reader: strings.NewReader("{}")}
	_, err = m.GetHTTPClient().Post(m.GetConfig().Host+"/api/v1/namespaces", "application/json", body)
	assert.ErrorIs(w.t, err, ErrLate)
	assert.True(w.t, body.closed, "or whoever writes into it waits for a reader")
}

// closes is a body that knows whether it was closed.
type closes struct {
	io.Reader
	closed bool
}

func (c *closes) Close() error {
	c.closed = true
	return nil
}
