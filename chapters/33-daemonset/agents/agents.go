// Package agents is what both programs of the chapter do: a DaemonSet has an agent on each of three
// nodes, one node fills up, and the agents are updated.
package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

// version is a label of the template.
const version = "version"

// Controller makes the DaemonSet controller.
type Controller func(m *mini.Manager) (*mini.Controller, error)

// Main runs the story on a cluster whose own DaemonSet controller is switched off.
func Main(title string, controller Controller, questions ...demo.Question) {
	_ = os.Setenv("ORIGINALS", "-daemonset-controller")
	story := demo.NeedsKwok(Story(controller)) // for the nodes edge-1 to edge-3
	demo.Main(title, alone.Story(story, "daemonset-controller"), questions...)
}

// Story brings agents to three nodes, and says which of them serve.
func Story(controller Controller) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		user, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		cluster.Trace = d.Hidden()
		s := &story{Demo: d, client: &mini.Client{Cluster: user}, ending: map[types.UID]time.Time{}}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		m := mini.NewManager(cluster)
		c, err := controller(m)
		if err != nil {
			return err
		}
		m.AddController(c)
		var running sync.WaitGroup
		var failure error // of the manager; after running.Wait
		running.Go(func() { failure = m.Run(ctx) })
		running.Go(func() { s.drain(ctx) })
		err = s.play(ctx)
		stop()
		running.Wait()
		return errors.Join(err, failure, s.cleanUp(ctx))
	}
}

type story struct {
	*demo.Demo
	client *mini.Client

	mu     sync.Mutex // guards all below
	ending map[types.UID]time.Time
	fewest int // nodes whose agent served
}

var nodes = []string{"edge-1", "edge-2", "edge-3"}

func (s *story) play(ctx context.Context) error {
	if err := s.Step("1. A DaemonSet for the nodes edge-1, edge-2 and edge-3", func() error {
		for _, name := range nodes {
			if err := s.client.Create(ctx, s.node(name)); err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
		}
		if err := s.client.Create(ctx, s.daemonSet()); err != nil {
			return err
		}
		return s.report(ctx, 5*time.Second)
	}); err != nil {
		return err
	}
	if err := s.Step("2. kubectl taint node edge-3 full=yes:NoSchedule", func() error {
		if err := s.taint(ctx, corev1.Taint{Key: "full", Value: "yes", Effect: corev1.TaintEffectNoSchedule}); err != nil {
			return err
		}
		return s.report(ctx, 6*time.Second)
	}); err != nil {
		return err
	}
	return s.Step("3. The taint is removed, and the DaemonSet gets version 2. One agent may be missing at a time", func() error {
		if err := s.taint(ctx); err != nil {
			return err
		}
		demo.Sleep(ctx, 5*time.Second)
		s.mu.Lock()
		s.fewest = len(nodes)
		s.mu.Unlock()
		patch := []byte(`{"spec":{"template":{"metadata":{"labels":{"version":"2"}}}}}`)
		if err := s.client.Patch(ctx, s.daemonSet(), types.MergePatchType, patch); err != nil {
			return err
		}
		if err := s.report(ctx, 25*time.Second); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Say("At the worst moment, %d of 3 agents served.", s.fewest)
		return nil
	})
}

// node returns a fake node, which kwok plays.
func (s *story) node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"demo": s.Namespace},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceCPU: resource.MustParse("4"),
			corev1.ResourceMemory: resource.MustParse("8Gi"),
		}},
	}
}

// daemonSet returns one whose Pods take 3 seconds to end, because they send what they have collected.
func (s *story) daemonSet() *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:     map[string]string{"app": "agent", version: "1"},
					Finalizers: []string{"example.com/send"},
				},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"demo": s.Namespace},
					Containers:   []corev1.Container{{Name: "c", Image: s.Image}},
				},
			},
		},
	}
}

func (s *story) taint(ctx context.Context, taints ...corev1.Taint) error {
	node, err := mini.Get[*corev1.Node](ctx, s.client, mini.Request{Name: "edge-3"})
	if err != nil {
		return err
	}
	node.Spec.Taints = taints
	return s.client.Update(ctx, node)
}

func (s *story) pods(ctx context.Context) ([]*corev1.Pod, error) {
	return mini.List[*corev1.Pod](ctx, s.client, mini.Selection{Namespace: s.Namespace})
}

// drain lets agents go 3 seconds after their deletion, and counts those that serve.
func (s *story) drain(ctx context.Context) {
	for ctx.Err() == nil {
		pods, err := s.pods(ctx)
		if err == nil {
			s.look(ctx, pods)
		}
		demo.Sleep(ctx, 100*time.Millisecond)
	}
}

func (s *story) look(ctx context.Context, pods []*corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	serving := 0
	for _, pod := range pods {
		switch began := s.ending[pod.UID]; {
		case pod.DeletionTimestamp == nil && isReady(pod):
			serving++
		case pod.DeletionTimestamp == nil:
		case began.IsZero():
			s.ending[pod.UID] = time.Now()
		case time.Since(began) > 3*time.Second:
			s.letGo(ctx, pod)
		}
	}
	s.fewest = min(s.fewest, serving)
}

func (s *story) letGo(ctx context.Context, pod *corev1.Pod) {
	_ = s.client.Patch(ctx, pod, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)) // or it was deleted
}

// report says which agents there are.
func (s *story) report(ctx context.Context, after time.Duration) error {
	demo.Sleep(ctx, after)
	pods, err := s.pods(ctx)
	var all []string
	for _, pod := range pods {
		text := fmt.Sprintf("%s %s", pod.Spec.NodeName, pod.Labels[version])
		switch {
		case pod.DeletionTimestamp != nil:
			text += " (ending)"
		case !isReady(pod):
			text += " (not ready)"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	s.Say("Agents, by node and version: %s.", strings.Join(all, ", "))
	return err
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// cleanUp removes what the end of the namespace does not: the nodes, and finalizers.
func (s *story) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	pods, err := s.pods(ctx)
	for _, pod := range pods {
		s.letGo(ctx, pod)
	}
	for _, name := range nodes {
		node := s.node(name)
		err = errors.Join(err, mini.IgnoreNotFound(s.client.Delete(ctx, node, metav1.DeleteOptions{})))
	}
	return err
}
