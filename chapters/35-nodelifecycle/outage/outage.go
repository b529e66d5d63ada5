// Package outage is what both programs of the chapter do: the clock of one node is wrong, and another
// node falls silent. The story plays the kubelets of both.
package outage

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Prepare adds controllers to m.
type Prepare func(m *mini.Manager) error

// Main runs the story on a cluster whose own controllers of nodes are switched off.
func Main(title string, prepare Prepare, questions ...demo.Question) {
	_ = os.Setenv("ORIGINALS", "-node-lifecycle-controller,-taint-eviction-controller")
	demo.Main(title, Story(prepare), questions...)
}

// Story makes two nodes, and removes them.
func Story(prepare Prepare) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		cluster.Trace = d.Hidden()
		m := mini.NewManager(cluster)
		if err := prepare(m); err != nil {
			return err
		}
		s := &story{Demo: d}
		ended := make(chan error)
		go func() { ended <- m.Run(ctx) }()
		err = s.play(ctx)
		stop()
		s.kubelets.Wait()
		return errors.Join(err, <-ended, s.cleanUp(ctx))
	}
}

type story struct {
	*demo.Demo
	kubelets sync.WaitGroup
}

func (s *story) play(ctx context.Context) error {
	bCtx, stopB := context.WithCancel(ctx)
	defer stopB()
	if err := s.Step("1. Nodes a and b; the clock of a is ten minutes slow", func() error {
		err := errors.Join(s.kubelet(ctx, "a", -10*time.Minute), s.kubelet(bCtx, "b", 0))
		seconds := int64(5)
		return errors.Join(err, s.pod(ctx, "a", "web-a", &seconds), s.pod(ctx, "b", "web-b", &seconds),
			s.pod(ctx, "b", "db-b", nil), s.report(ctx, 7*time.Second)) // not when the naive program looks: every 5 s
	}); err != nil {
		return err
	}
	if err := s.Step("2. Node b falls silent", func() error {
		stopB()
		return s.report(ctx, 70*time.Second)
	}); err != nil {
		return err
	}
	return s.Step("3. Node b is back", func() error {
		return errors.Join(s.kubelet(ctx, "b", 0), s.report(ctx, 2*time.Second))
	})
}

func (s *story) node(name string) string { return s.Namespace + "-" + name }

// kubelet registers a node, or finds it, and renews its lease until ctx ends.
func (s *story) kubelet(ctx context.Context, name string, clock time.Duration) error {
	nodes := s.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, s.node(name), metav1.GetOptions{})
	if err != nil {
		meta := metav1.ObjectMeta{Name: s.node(name)}
		if node, err = nodes.Create(ctx, &corev1.Node{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := s.renew(ctx, name, clock); err != nil {
		return err
	}
	node.ResourceVersion = "" // a kubelet knows its own node best
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()},
	}
	if _, err := nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return err
	}
	s.kubelets.Go(func() {
		for {
			demo.Sleep(ctx, 10*time.Second)
			if ctx.Err() != nil {
				return
			}
			if err := s.renew(ctx, name, clock); err != nil && ctx.Err() == nil {
				s.Say("The lease of node %s was not renewed: %v", name, err)
			}
		}
	})
	return nil
}

func (s *story) renew(ctx context.Context, name string, clock time.Duration) error {
	leases := s.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	spec := coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(time.Now().Add(clock)))}
	lease, err := leases.Get(ctx, s.node(name), metav1.GetOptions{})
	if err != nil {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: s.node(name)}, Spec: spec,
		}, metav1.CreateOptions{})
		return err
	}
	lease.Spec = spec
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// pod makes a Pod on a node, which is ready at once. It tolerates a silent node for some seconds, or
// forever.
func (s *story) pod(ctx context.Context, node, name string, seconds *int64) error {
	pods := s.Client.CoreV1().Pods(s.Namespace)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: s.node(node), TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "c", Image: s.Image}},
		},
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, TolerationSeconds: seconds,
			Effect: corev1.TaintEffectNoExecute,
		})
	}
	made, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	for err != nil && strings.Contains(err.Error(), "serviceaccount") { // of the new namespace: it takes a moment
		demo.Sleep(ctx, 100*time.Millisecond)
		made, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	made.Status.Conditions = append(made.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	_, err = pods.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return mini.IgnoreNotFound(err) // it may have been evicted already
}

// report says after some time what there is.
func (s *story) report(ctx context.Context, after time.Duration) error {
	demo.Sleep(ctx, after)
	for _, name := range []string{"a", "b"} {
		node, err := s.Client.CoreV1().Nodes().Get(ctx, s.node(name), metav1.GetOptions{})
		if err != nil {
			return err
		}
		text := ""
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				text = "Ready is " + string(c.Status)
			}
		}
		for _, taint := range node.Spec.Taints {
			if taint.Effect == corev1.TaintEffectNoExecute {
				text += ", with the taint " + taint.Key
			}
		}
		pods, err := s.Client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		on := []string{}
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != node.Name {
				continue
			}
			ready := "not ready"
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					ready = "ready"
				}
			}
			on = append(on, pod.Name+" ("+ready+")")
		}
		if len(on) == 0 {
			on = []string{"none"}
		}
		s.Say("Node %s: %s. Pods: %s.", name, text, strings.Join(on, ", "))
	}
	return nil
}

func (s *story) cleanUp(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, name := range []string{"a", "b"} {
		leases := s.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
		err = errors.Join(err,
			mini.IgnoreNotFound(s.Client.CoreV1().Nodes().Delete(ctx, s.node(name), metav1.DeleteOptions{})),
			mini.IgnoreNotFound(leases.Delete(ctx, s.node(name), metav1.DeleteOptions{})))
	}
	return err
}
