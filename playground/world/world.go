package world

import (
	"context"
	"errors"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/playground/kubectl"
)

// Options say what the world begins with. The zero value has three nodes, and one process of mini
// that needs no lease.
type Options struct {
	Seed     uint64 // of UIDs and generated names
	Nodes    int    // 0 is 3
	Replicas int    // processes of mini; with more than one, they compete for a lease. 0 is 1
	Events   int    // how many a process's recorder holds; 0 is trace.DefaultSize
}

// World is a cluster. Its methods may be called from several goroutines while Run runs.
type World struct {
	Server  *fakeapi.Server
	Kubectl *kubectl.Kubectl

	options   Options
	cache     *mini.Cache        // of what is played, and of State
	client    *mini.CachedClient // reads from cache
	parts     []mini.Runnable    // scheduler, kubelets, nodes
	nodes     map[string]*node
	nodeNames []string

	mu        sync.Mutex // guards all below
	processes []*Process
	begin     func(*Process) // nil while Run doesn't run
	replicas  int            // processes that have ever been
	fast      func()         // ends Slow; nil is none
	changed   chan struct{}  // closed, and replaced, by each change of an object or a process
}

// New returns a world in which nothing moves yet.
func New(options Options) (*World, error) {
	options.Nodes, options.Replicas = max(options.Nodes, 0), max(options.Replicas, 1)
	if options.Nodes == 0 {
		options.Nodes = 3
	}
	w := &World{
		Server:  fakeapi.New(fakeapi.Options{Seed: options.Seed, NoManagedFields: true, NoLog: true}),
		options: options,
		nodes:   map[string]*node{},
		changed: make(chan struct{}),
	}
	for _, step := range []func() error{w.makePrompt, w.makePlayers, w.makeView} {
		if err := step(); err != nil {
			return nil, errors.Join(fmt.Errorf("making a world: %w", err), w.close())
		}
	}
	for range options.Replicas {
		if err := w.addProcess(options.Replicas > 1); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

func (w *World) close() error {
	w.Server.Close()
	return nil
}

func (w *World) makePrompt() (err error) {
	config := w.Server.Config()
	config.UserAgent, config.WarningHandler = "kubectl", rest.NoWarnings{}
	w.Kubectl, err = kubectl.New(config)
	return err
}

// makePlayers makes what a cluster has beside its API server and its controllers.
func (w *World) makePlayers() error {
	config := w.Server.Config()
	config.UserAgent, config.WarningHandler = "kubelet", rest.NoWarnings{}
	cluster, err := mini.NewCluster(config, scheme.Scheme)
	if err != nil {
		return err
	}
	binding, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	m := mini.NewManager(cluster)
	w.cache, w.client = m.Cache, m.Client
	pods, nodes := m.Informer(&corev1.Pod{}), m.Informer(&corev1.Node{})

	plays := m.NewController("kubelet", 1, &kubelets{client: m.Client, nodes: w.nodes})
	plays.Watch(pods, mini.EnqueueObject)
	places := &scheduler{client: m.Client, binding: binding, assumed: map[types.UID]string{}}
	schedules := m.NewController("scheduler", 1, places)
	schedules.Watch(pods, mini.EnqueueObject)
	schedules.Watch(nodes, mini.EnqueueMapped(func(mini.Object) (waiting []mini.Request) {
		for _, obj := range pods.List() {
			if pod := obj.(*corev1.Pod); pod.Spec.NodeName == "" {
				waiting = append(waiting, mini.KeyOf(pod))
			}
		}
		return waiting
	}))
	pods.AddHandler(func(change mini.Change) {
		if change.New == nil {
			w.nodes[change.Old.(*corev1.Pod).Spec.NodeName].forget(change.Old.GetUID())
		}
	})
	w.parts = []mini.Runnable{plays, schedules}
	for number := range w.options.Nodes {
		n := newNode(number+1, m.Client)
		n.queue = plays.Queue
		w.nodes[n.name] = n
		w.nodeNames = append(w.nodeNames, n.name)
		w.parts = append(w.parts, mini.RunnableFunc(n.run))
	}
	return m.Err()
}

// viewed are the kinds of objects that State shows.
var viewed = []mini.Object{
	&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}, &corev1.Node{}, &coordinationv1.Lease{},
}

// makeView has each change of an object wake those who wait for one.
func (w *World) makeView() error {
	for _, like := range viewed {
		informer, err := w.cache.Informer(like)
		if err != nil {
			return err
		}
		informer.AddHandler(func(change mini.Change) {
			if lease, is := change.Object().(*coordinationv1.Lease); is &&
				lease.Namespace != leaseKey.Namespace {
				return // nodes say that they live
			}
			w.touch()
		})
	}
	return nil
}

func (w *World) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touchLocked()
}

func (w *World) touchLocked() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// addProcess makes one more process of mini, which begins at once if Run runs.
func (w *World) addProcess(elect bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replicas++
	name := fmt.Sprintf("mini-%d", w.replicas)
	p, err := newProcess(w.Server.Config(), name, w.options.Events, elect)
	if err != nil {
		return fmt.Errorf("making a process: %w", err)
	}
	w.processes = append(w.processes, p)
	w.touchLocked()
	if w.begin != nil {
		w.begin(p)
	}
	return nil
}

// Run plays the world until ctx ends, and then takes it down: it can't be run again. Errors are
// those of a process or a player that ended by itself, which none should.
func (w *World) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	var mu sync.Mutex // guards failed
	var failed error
	run := func(ctx context.Context, part func(context.Context) error) {
		running.Go(func() {
			if err := part(ctx); err != nil && !errors.Is(err, context.Canceled) {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
				stop()
			}
		})
	}
	run(ctx, w.cache.Run)
	for _, part := range w.parts {
		run(ctx, part.Run)
	}
	w.mu.Lock()
	w.begin = func(p *Process) { // called with mu held
		var its context.Context
		its, p.stop = context.WithCancel(ctx)
		run(its, p.run)
	}
	for _, p := range w.processes {
		w.begin(p)
	}
	w.mu.Unlock()
	<-ctx.Done()
	w.mu.Lock()
	w.begin = nil
	w.mu.Unlock()
	running.Wait()
	w.Server.Close()
	return failed
}
