package stage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// The further kinds that a world with Rest watches.
const (
	Job                   = "Job"
	CronJob               = "CronJob"
	DaemonSet             = "DaemonSet"
	StatefulSet           = "StatefulSet"
	ControllerRevision    = "ControllerRevision"
	PersistentVolumeClaim = "PersistentVolumeClaim"
	ConfigMap             = "ConfigMap"
	Namespace             = "Namespace"
	Node                  = "Node"
)

func restWatches(c kubernetes.Interface) map[string]opener {
	return map[string]opener{
		Job:                   c.BatchV1().Jobs(metav1.NamespaceAll).Watch,
		CronJob:               c.BatchV1().CronJobs(metav1.NamespaceAll).Watch,
		DaemonSet:             c.AppsV1().DaemonSets(metav1.NamespaceAll).Watch,
		StatefulSet:           c.AppsV1().StatefulSets(metav1.NamespaceAll).Watch,
		ControllerRevision:    c.AppsV1().ControllerRevisions(metav1.NamespaceAll).Watch,
		PersistentVolumeClaim: c.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).Watch,
		ConfigMap:             c.CoreV1().ConfigMaps(metav1.NamespaceAll).Watch,
		Namespace:             c.CoreV1().Namespaces().Watch,
		Node:                  c.CoreV1().Nodes().Watch,
	}
}

func restLists(ctx context.Context, c kubernetes.Interface, namespace string) map[string]func() (runtime.Object, error) {
	all := metav1.ListOptions{}
	own := metav1.ListOptions{FieldSelector: "metadata.name=" + namespace}
	nodes := metav1.ListOptions{LabelSelector: stageLabel + "=" + namespace}
	return map[string]func() (runtime.Object, error){
		Job:         func() (runtime.Object, error) { return c.BatchV1().Jobs(namespace).List(ctx, all) },
		CronJob:     func() (runtime.Object, error) { return c.BatchV1().CronJobs(namespace).List(ctx, all) },
		DaemonSet:   func() (runtime.Object, error) { return c.AppsV1().DaemonSets(namespace).List(ctx, all) },
		StatefulSet: func() (runtime.Object, error) { return c.AppsV1().StatefulSets(namespace).List(ctx, all) },
		ControllerRevision: func() (runtime.Object, error) {
			return c.AppsV1().ControllerRevisions(namespace).List(ctx, all)
		},
		PersistentVolumeClaim: func() (runtime.Object, error) {
			return c.CoreV1().PersistentVolumeClaims(namespace).List(ctx, all)
		},
		ConfigMap: func() (runtime.Object, error) { return c.CoreV1().ConfigMaps(namespace).List(ctx, all) },
		Namespace: func() (runtime.Object, error) { return c.CoreV1().Namespaces().List(ctx, own) },
		Node:      func() (runtime.Object, error) { return c.CoreV1().Nodes().List(ctx, nodes) },
	}
}

// stageLabel is on a node that belongs to a stage; its value is the namespace.
const stageLabel = "stage"

// stageOf is the namespace of the stage that an object belongs to.
func stageOf(object Object) string {
	switch o := object.(type) {
	case *corev1.Namespace:
		return o.Name
	case *corev1.Node:
		return o.Labels[stageLabel]
	}
	return object.GetNamespace()
}

// AddNode makes a node for this stage alone, in a zone of its own, so its outage does not affect the others. Its name
// begins with that of the stage.
func (s *Stage) AddNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	node := playedNode(s.NodeName(name))
	node.Labels[stageLabel] = s.Namespace
	node.Labels[corev1.LabelTopologyZone], node.Labels[corev1.LabelTopologyRegion] = s.Namespace, "one"
	node.Spec.Taints = []corev1.Taint{{Key: "example.com/" + stageLabel, Effect: corev1.TaintEffectNoSchedule}} // keeps the Pods of the others away
	report(node, corev1.ConditionTrue)
	if change != nil {
		change(node)
	}
	s.world.setAlive(node.Name, true)
	_, err := s.world.nodes.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	return err
}

// NodeName is the name of a node of this stage.
func (s *Stage) NodeName(name string) string { return s.Namespace + "-" + name }

// Silence lets a node's kubelet say nothing more, and do nothing.
func (s *Stage) Silence(name string) { s.world.setAlive(s.NodeName(name), false) }

// ReportNode lets a node's kubelet report its conditions: that it is ready, or not.
func (s *Stage) ReportNode(ctx context.Context, name string, ready corev1.ConditionStatus, change func(*corev1.Node)) error {
	s.world.setAlive(s.NodeName(name), true)
	return Poll(ctx, "the report of the node "+name, func() error {
		node, err := s.world.nodes.CoreV1().Nodes().Get(ctx, s.NodeName(name), metav1.GetOptions{})
		if err != nil {
			return err
		}
		report(node, ready)
		if change != nil {
			change(node)
		}
		_, err = s.world.nodes.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// report is what a kubelet reports about a node without any pressure.
func report(node *corev1.Node, ready corev1.ConditionStatus) {
	now := metav1.Now()
	node.Status.Conditions = nil
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		status := corev1.ConditionFalse
		if kind == corev1.NodeReady {
			status = ready
		}
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status, Reason: "Played", LastTransitionTime: now, LastHeartbeatTime: now})
	}
}

func (w *World) setAlive(node string, alive bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive[node] = alive
}

// isSilent reports whether a node's kubelet does nothing.
func (w *World) isSilent(node string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	alive, known := w.alive[node]
	return known && !alive
}

// renewEvery is how often a kubelet renews its lease.
const renewEvery = 5 * time.Second

// renewLeases renews the leases of all nodes that are alive, until the context ends.
func (w *World) renewLeases(ctx context.Context) error {
	for _, name := range Nodes {
		w.setAlive(name, true)
	}
	for {
		w.mu.Lock()
		var names []string
		for name, alive := range w.alive {
			if alive {
				names = append(names, name)
			}
		}
		w.mu.Unlock()
		for _, name := range names {
			if err := w.renewLease(ctx, name); err != nil && ctx.Err() == nil {
				return fmt.Errorf("renewing the lease of %s: %w", name, err)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(renewEvery):
		}
	}
}

func (w *World) renewLease(ctx context.Context, node string) error {
	leases := w.nodes.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NowMicro()
	lease, err := leases.Get(ctx, node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &node, RenewTime: &now, LeaseDurationSeconds: new(int32(40))}}, metav1.CreateOptions{})
	case err == nil:
		lease.Spec.RenewTime = &now
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return nil // the next round does it
	}
	return err
}

// removeNodes deletes the nodes of a stage.
func (w *World) removeNodes(ctx context.Context, namespace string) (err error) {
	if !w.rest {
		return nil
	}
	w.mu.Lock()
	for name := range w.alive {
		if strings.HasPrefix(name, namespace+"-") {
			delete(w.alive, name)
		}
	}
	w.mu.Unlock()
	nodes, err := w.nodes.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: stageLabel + "=" + namespace})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		err = errors.Join(err, w.nodes.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}))
	}
	return err
}

// Rests reports whether nothing has changed for so long, and the watches have shown all there is.
func (s *Stage) Rests(ctx context.Context, long time.Duration) (bool, error) {
	s.mu.Lock()
	last, err := s.last, s.err
	s.mu.Unlock()
	if err := errors.Join(err, s.world.Err(), context.Cause(ctx)); err != nil || time.Since(last) < long {
		return false, err
	}
	open := s.Pods(func(p *corev1.Pod) bool { return duty(p) != nothing && !s.world.isSilent(p.Spec.NodeName) })
	if len(open) > 0 { // a kubelet has to act
		return false, nil
	}
	return s.isCurrent(ctx)
}
