package manager

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// cast is several replicas of one program, and what the test sees of them. The program copies the
// field want of each ConfigMap to the field done, slowly.
type cast struct {
	t      *testing.T
	server *fakeapi.Server
	live   *kubernetes.Clientset
	random *rand.Rand
	warm   bool // EnableWarmup
	free   bool // LeaderElectionReleaseOnCancel

	mu       sync.Mutex     // guards what follows
	busy     map[string]int // reconciles under way, by replica
	overlaps []string
	starts   int // processes
	led      []string
}

// replica is a Pod: its process is started again when it ends.
type replica struct {
	*cast
	name string
	// stop ends the process, if there is one; guarded by the cast's mutex.
	stop context.CancelFunc
}

// agent makes requests recognizable: faults hit those of one replica.
type agent struct {
	name string
	next http.RoundTripper
}

func (a agent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", a.name)
	return a.next.RoundTrip(r)
}

// process is one run of the program, from main to its end.
func (r *replica) process(ctx context.Context) error {
	connection := r.server.Config()
	connection.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return agent{r.name, next}
	}
	m, err := New(connection, Options{
		Strict: true, // somebody deletes the lease
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "copier", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: r.free,
		Controller: config.Controller{SkipNameValidation: new(true), EnableWarmup: &r.warm},
	})
	if err != nil {
		return err
	}
	c, err := controller.New("copier", m, controller.Options{
		MaxConcurrentReconciles: 3, Reconciler: r.copier(m.GetClient()),
		ReconciliationTimeout: 20 * time.Second, // some requests are never answered
	})
	if err != nil {
		return err
	}
	if err := c.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{},
		&handler.EnqueueRequestForObject{})); err != nil {
		return err
	}
	go func() {
		select {
		case <-m.Elected():
			r.mu.Lock()
			r.led = append(r.led, r.name)
			r.mu.Unlock()
		case <-ctx.Done():
		}
	}()
	return m.Start(ctx)
}

// copier is the reconciler.
func (r *replica) copier(api client.Client) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result,
		error) {
		r.begins()
		defer r.ends()
		var object corev1.ConfigMap
		if err := api.Get(ctx, request.NamespacedName, &object); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if object.Data["want"] == object.Data["done"] {
			return reconcile.Result{}, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return reconcile.Result{}, context.Cause(ctx)
		}
		object.Data["done"] = object.Data["want"]
		return reconcile.Result{}, api.Update(ctx, &object)
	})
}

func (r *replica) begins() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[r.name]++
	for other, count := range r.busy {
		if other != r.name && count > 0 {
			r.overlaps = append(r.overlaps,
				fmt.Sprintf("%s and %s at %s", r.name, other, time.Now().Format(time.TimeOnly)))
		}
	}
}

func (r *replica) ends() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[r.name]--
}

// live runs the replica until ctx ends.
func (r *replica) lives(ctx context.Context) {
	for ctx.Err() == nil {
		process, stop := context.WithCancel(ctx)
		r.mu.Lock()
		r.stop = stop
		r.starts++
		r.mu.Unlock()
		_ = r.process(process)
		stop()
		select {
		case <-time.After(time.Second): // the kubelet starts it again
		case <-ctx.Done():
		}
	}
}

func (r *replica) restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop()
	}
}

func (c *cast) want(name, value string) {
	objects := c.live.CoreV1().ConfigMaps("default")
	object, err := objects.Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		_, err = objects.Create(c.t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
				Data: map[string]string{"want": value}}, metav1.CreateOptions{})
		require.NoError(c.t, err)
		return
	}
	object.Data["want"] = value
	// a conflict is a wish that nobody heard
	_, _ = objects.Update(c.t.Context(), object, metav1.UpdateOptions{})
}

// open are the ConfigMaps whose wish has not come true.
func (c *cast) open() []string {
	list, err := c.live.CoreV1().ConfigMaps("default").List(c.t.Context(), metav1.ListOptions{})
	require.NoError(c.t, err)
	var open []string
	for _, object := range list.Items {
		if object.Data["want"] != object.Data["done"] {
			open = append(open, object.Name)
		}
	}
	return open
}

// trouble makes one thing go wrong, for a while.
func (c *cast) trouble(replicas []*replica) {
	victim := replicas[c.random.IntN(len(replicas))]
	lasts := time.Duration(c.random.IntN(30)+1) * time.Second
	resource := []string{"leases", "leases", "configmaps", ""}[c.random.IntN(4)]
	fault := fakeapi.Fault{Match: fakeapi.Match{UserAgent: victim.name, Resource: resource},
		Seed: c.random.Uint64()}
	if c.random.IntN(3) == 0 {
		fault.Match.UserAgent = "replica" // all of them
	}
	switch c.random.IntN(10) {
	case 0:
		fault.Hang = true
	case 1:
		fault.Refuse = true
	case 2:
		fault.LoseResponse, fault.Probability = true, 0.5
	case 3:
		fault.Delay = time.Duration(c.random.IntN(12000)) * time.Millisecond
	case 4:
		fault.Status = fakeapi.Unavailable()
	case 5:
		fault.CutAfter = time.Duration(c.random.IntN(3000)) * time.Millisecond
	case 6:
		fault.Status, fault.Match.Verb = fakeapi.Conflict(), "update"
	case 7:
		_ = c.live.CoordinationV1().Leases("default").Delete(c.t.Context(), "copier",
			metav1.DeleteOptions{})
		return
	case 8:
		c.server.CompactAll()
		return
	case 9:
		victim.restart()
		return
	}
	remove := c.server.Inject(fault)
	time.Sleep(lasts)
	remove()
}

// play lets two replicas live through some minutes of trouble.
func play(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		c := &cast{t: t, server: fakeapi.New(fakeapi.Options{Seed: seed}),
			random: rand.New(rand.NewPCG(seed, 14)), busy: map[string]int{}}
		defer c.server.Close()
		c.warm, c.free = seed%2 == 0, seed%4 < 2
		var err error
		c.live, err = kubernetes.NewForConfig(c.server.Config())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		var pods sync.WaitGroup
		replicas := []*replica{{cast: c, name: "replica-0"}, {cast: c, name: "replica-1"}}
		for _, r := range replicas {
			pods.Go(func() { r.lives(ctx) })
		}
		for step := range 12 {
			for name := range 5 {
				c.want(fmt.Sprint("wish-", name), fmt.Sprint(step))
			}
			time.Sleep(time.Duration(c.random.IntN(10000)) * time.Millisecond)
			c.trouble(replicas)
		}
		time.Sleep(3 * time.Minute)
		open := c.open()
		stop()
		pods.Wait()
		require.Empty(t, c.overlaps, "two replicas reconciled at the same time; seed %d", seed)
		require.Empty(t, open,
			"the work is not done 3 minutes after the last trouble; seed %d, led %v, %d starts",
			seed, c.led, c.starts)
		require.NotEmpty(t, c.led)
	})
}

func TestTwoReplicasNeverReconcileAtTheSameTimeAndTheWorkIsDone(t *testing.T) {
	seeds := race.Fewer(100)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		play(t, uint64(seed))
	}
}
