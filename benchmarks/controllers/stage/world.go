package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
)

// Controller runs one of our controllers until the context ends.
type Controller func(ctx context.Context, config *rest.Config) error

// World is a cluster with some of the controllers' originals, and some of ours.
type World struct {
	Name   string
	Config *rest.Config // the administrator's

	rest    bool
	user    kubernetes.Interface // writes what scenarios write
	nodes   kubernetes.Interface // writes what kubelets write
	dir     string
	cluster *cluster.Cluster
	stop    context.CancelFunc
	running sync.WaitGroup

	canary    *Stage
	pulsing   chan struct{} // holds one while somebody uses what follows
	pulses    int
	lastPulse time.Time // when the last one began

	mu     sync.Mutex
	stages map[string]*Stage // by namespace; guarded by mu
	alive  map[string]bool   // the nodes that renew their leases; guarded by mu
	failed error             // why the world is of no use any more; guarded by mu
}

// Users, as the fields' managers name them. What is played is told from what controllers have written.
const (
	UserAgent       = "user"
	KubeletAgent    = "kubelet"
	ControllerAgent = "controllers"
)

// Nodes are the names of the nodes. The scheduler uses the first; a Pod gets onto the others by naming them itself. So
// both sides have their Pods on the same nodes.
var Nodes = []string{"node-1", "node-2", "node-3"}

// Options say what runs in a world.
type Options struct {
	Name      string
	Originals []string              // as cluster.Options has them
	Ours      map[string]Controller // run beside the originals
	// Rest is for scenarios about more than Deployments, ReplicaSets and Endpoints: more kinds are watched (rest.go), and the
	// nodes renew their leases for a node lifecycle controller.
	Rest bool
}

// New brings a cluster up. What its parts print goes to log.
func New(ctx context.Context, o Options, log io.Writer) (*World, error) {
	dir, err := os.MkdirTemp("", "loopwright-"+o.Name+"-")
	if err != nil {
		return nil, err
	}
	c, err := cluster.Up(ctx, cluster.Options{
		Dir: filepath.Join(dir, "state"), Ephemeral: true, RemoveDir: dir, Out: log, Originals: o.Originals, Arguments: o.arguments,
		Parts: []cluster.Part{cluster.Etcd, cluster.APIServer, cluster.ControllerManager, cluster.Scheduler},
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	ctx, stop := context.WithCancel(ctx)
	w := &World{Name: o.Name, Config: c.RESTConfig(), rest: o.Rest, dir: dir, cluster: c, stop: stop,
		stages: map[string]*Stage{}, alive: map[string]bool{}, pulsing: make(chan struct{}, 1)}
	if err := w.start(ctx, o.Ours); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// arguments leave out what would take the played nodes for dead, and let nobody wait for its own rate limit.
func (o Options) arguments(part cluster.Part, line []string) ([]string, error) {
	if part != cluster.ControllerManager && part != cluster.Scheduler {
		return line, nil
	}
	line = slices.Clone(line)
	for i, argument := range line {
		if strings.HasPrefix(argument, "--controllers=") && !o.Rest {
			line[i] += ",-node-lifecycle-controller"
		}
		if strings.HasPrefix(argument, "--kube-api-qps=") {
			line[i] = "--kube-api-qps=10000"
		}
		if strings.HasPrefix(argument, "--kube-api-burst=") {
			line[i] = "--kube-api-burst=10000"
		}
	}
	return line, nil
}

func (w *World) as(agent string) (kubernetes.Interface, error) {
	config := rest.CopyConfig(w.Config)
	config.UserAgent, config.WarningHandler = agent, rest.NoWarnings{}
	return kubernetes.NewForConfig(config)
}

func (w *World) start(ctx context.Context, ours map[string]Controller) (err error) {
	if w.user, err = w.as(UserAgent); err != nil {
		return err
	}
	if w.nodes, err = w.as(KubeletAgent); err != nil {
		return err
	}
	for i, name := range Nodes {
		if err := w.addNode(ctx, name, i > 0); err != nil {
			return err
		}
	}
	if w.rest {
		w.run(ctx, "renewing leases", w.renewLeases)
	}
	for kind, open := range w.watches() {
		first, err := open(ctx, metav1.ListOptions{AllowWatchBookmarks: true})
		if err != nil {
			return fmt.Errorf("watching %s: %w", kind, err)
		}
		w.run(ctx, "watching "+kind, func(ctx context.Context) error { return follow(ctx, kind, first, open, w.see) })
	}
	config := rest.CopyConfig(w.Config)
	config.UserAgent, config.WarningHandler = ControllerAgent, rest.NoWarnings{}
	for name, controller := range ours {
		w.run(ctx, name, func(ctx context.Context) error { return controller(ctx, config) })
	}
	return w.makeCanary(ctx)
}

// run runs something for as long as the world lasts. It must not end before.
func (w *World) run(ctx context.Context, what string, do func(context.Context) error) {
	w.running.Go(func() {
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.failed == nil {
			w.failed = fmt.Errorf("%s has ended: %w", what, err)
		}
	})
}

func (w *World) addNode(ctx context.Context, name string, closed bool) error {
	node := playedNode(name)
	node.Spec.Unschedulable = closed
	if _, err := w.nodes.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making the node %s: %w", name, err)
	}
	// A new node is tainted until it is ready, which the node lifecycle controller would see.
	open := []byte(`{"spec":{"taints":null}}`)
	if _, err := w.nodes.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, open, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("opening the node %s: %w", name, err)
	}
	return nil
}

// playedNode is a node that is ready, and has room for everybody.
func playedNode(name string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("640"), corev1.ResourceMemory: resource.MustParse("2Ti"), corev1.ResourcePods: resource.MustParse("20000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Played", LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now()},
		}},
	}
}

// see gives a change to the stage that it happened on.
func (w *World) see(change Change) {
	w.mu.Lock()
	stage := w.stages[stageOf(change.Object)]
	w.mu.Unlock()
	if stage != nil {
		stage.see(change)
	}
}

// Err is why the world is of no use any more.
func (w *World) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// Close ends everything, and removes the cluster.
func (w *World) Close() error {
	w.stop()
	w.running.Wait()
	return errors.Join(w.cluster.Down(context.Background()), os.RemoveAll(w.dir))
}
