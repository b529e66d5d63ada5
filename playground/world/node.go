package world

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/mini"
)

// heartbeat is how often a node says that it lives.
const heartbeat = 10 * time.Second

// node is a machine with its kubelet.
type node struct {
	number   int
	name, ip string
	client   *mini.CachedClient
	queue    *mini.RetryQueue // of the controller that runs the kubelets

	mu    sync.Mutex // guards all below
	dead  bool
	ips   int
	lives map[types.UID]*life // the Pods that run here
	woken chan struct{}       // gets one from revive; received by run; room for one
}

func newNode(number int, client *mini.CachedClient) *node {
	return &node{
		number: number, name: fmt.Sprintf("node-%d", number), ip: fmt.Sprintf("192.168.0.%d", number),
		client: client, lives: map[types.UID]*life{}, woken: make(chan struct{}, 1),
	}
}

// nextIP is called with mu held, through life.status.
func (n *node) nextIP() string {
	n.ips++
	return fmt.Sprintf("10.%d.%d.%d", n.ips/256, n.number, n.ips%256)
}

// kill stops the machine: nobody says that it's dead, it only falls silent.
func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
}

// revive starts the machine again, and with it the containers of its Pods.
func (n *node) revive() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.dead {
		return
	}
	n.dead = false
	for _, l := range n.lives {
		if l.stage == ready || l.stage == starting {
			l.stage, l.began, l.restarts = starting, time.Now(), l.restarts+1
			l.lastExit = exit(137, l.began, time.Now())
		}
	}
	select {
	case n.woken <- struct{}{}:
	default:
	}
}

func (n *node) isDead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead
}

// run registers the node, and says every few seconds that it lives.
func (n *node) run(ctx context.Context) error {
	for {
		if !n.isDead() {
			err := n.beat(ctx)
			if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
				return fmt.Errorf("%s: %w", n.name, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(heartbeat):
		case <-n.woken:
			n.wakePods(ctx)
		}
	}
}

// wakePods has the kubelet look at all Pods of its node.
func (n *node) wakePods(ctx context.Context) {
	pods, _ := mini.List[*corev1.Pod](ctx, n.client, mini.Selection{})
	for _, pod := range pods {
		if pod.Spec.NodeName == n.name {
			n.queue.Add(mini.KeyOf(pod))
		}
	}
}

// beat writes the node's status and its lease.
func (n *node) beat(ctx context.Context) error {
	is, err := mini.Get[*corev1.Node](ctx, n.client, mini.Request{Name: n.name})
	if apierrors.IsNotFound(err) {
		is.Name = n.name
		is.Labels = map[string]string{corev1.LabelHostname: n.name, corev1.LabelOSStable: "linux"}
		is.Status = n.status(is)
		if err := n.client.Create(ctx, is); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if status := n.status(is); !equality.Semantic.DeepEqual(is.Status, status) {
		is.Status = status
		if err := n.client.UpdateStatus(ctx, is); err != nil {
			return err
		}
	}
	key := mini.Request{Namespace: corev1.NamespaceNodeLease, Name: n.name}
	lease, err := mini.Get[*coordinationv1.Lease](ctx, n.client, key)
	now, missing := metav1.NowMicro(), apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	lease.Namespace, lease.Name = key.Namespace, key.Name
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = &n.name, &now
	lease.Spec.LeaseDurationSeconds = new(int32(40))
	if missing {
		return n.client.Create(ctx, lease)
	}
	return n.client.Update(ctx, lease)
}

// status is that of a healthy node; its condition keeps the time of its last change.
func (n *node) status(is *corev1.Node) corev1.NodeStatus {
	s := *is.Status.DeepCopy()
	s.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: n.ip},
		{Type: corev1.NodeHostName, Address: n.name},
	}
	s.NodeInfo = corev1.NodeSystemInfo{
		KubeletVersion: "v1.36.3", OSImage: "played", KernelVersion: "none", ContainerRuntimeVersion: "played://1",
		Architecture: "wasm", OperatingSystem: "linux",
	}
	ready := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "kubelet is posting ready status", LastTransitionTime: metav1.Now().Rfc3339Copy(),
	}
	for i, c := range s.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status == ready.Status {
			ready.LastTransitionTime = c.LastTransitionTime
		}
		s.Conditions[i] = ready
		return s
	}
	s.Conditions = append(s.Conditions, ready)
	return s
}

// kubelets are all nodes' kubelets, in one controller.
type kubelets struct {
	client *mini.CachedClient
	nodes  map[string]*node
}

// Reconcile brings what a Pod's status says to where its containers are.
func (k *kubelets) Reconcile(ctx context.Context, req mini.Request) (mini.Result, error) {
	pod, err := mini.Get[*corev1.Pod](ctx, k.client, req)
	if err != nil {
		return mini.Result{}, mini.IgnoreNotFound(err)
	}
	n := k.nodes[pod.Spec.NodeName]
	if n == nil {
		return mini.Result{}, nil // not scheduled yet
	}
	status, wait, over := n.look(pod)
	switch {
	case over:
		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
		err = k.client.Delete(ctx, pod, now)
		n.forget(pod.UID)
	case !equality.Semantic.DeepEqual(pod.Status, status):
		pod.Status = status
		err = k.client.UpdateStatus(ctx, pod)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return mini.Result{RequeueAfter: wait}, nil // an event is on its way
	}
	return mini.Result{RequeueAfter: wait}, err
}

// look returns what the kubelet knows of a Pod, and when it will be something else.
func (n *node) look(pod *corev1.Pod) (status corev1.PodStatus, wait time.Duration, over bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return pod.Status, 0, false
	}
	l := n.lives[pod.UID]
	if l == nil {
		l = &life{}
		n.lives[pod.UID] = l
	}
	wait, over = l.advance(pod, time.Now())
	return l.status(pod, n), wait, over
}

// forget ends what the kubelet knows of a Pod. A nil node has none.
func (n *node) forget(uid types.UID) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.lives, uid)
}

// errNoNode says that a button names a node that doesn't exist.
var errNoNode = errors.New("there is no such node")
