// Package peers is what both programs of the chapter do: a database of three members gets a bad release, and its user
// undoes that.
package peers

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

// noImage doesn't exist: its Pods never become ready.
const noImage = "registry.invalid/db:2"

// Controller makes the StatefulSet controller.
type Controller func(m *mini.Manager) (*mini.Controller, error)

// Main runs the story on a cluster whose own StatefulSet controller is switched off.
func Main(title string, controller Controller, questions ...demo.Question) {
	_ = os.Setenv("ORIGINALS", "-statefulset-controller")
	demo.Main(title, alone.Story(Story(controller), "statefulset-controller"), questions...)
}

// Story rolls out a bad release, and undoes that.
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
		m := mini.NewManager(cluster)
		c, err := controller(m)
		if err != nil {
			return err
		}
		m.AddController(c)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1) // the only value comes from the manager
		go func() { ended <- m.Run(ctx) }()
		s := &story{Demo: d, client: &mini.Client{Cluster: user}}
		err = s.play(ctx)
		stop()
		return errors.Join(err, <-ended)
	}
}

type story struct {
	*demo.Demo
	client *mini.Client
}

func (s *story) play(ctx context.Context) error {
	if err := s.Step("1. A StatefulSet with three members", func() error {
		if err := s.client.Create(ctx, s.set()); err != nil {
			return err
		}
		return s.report(ctx, 10*time.Second)
	}); err != nil {
		return err
	}
	if err := s.Step("2. kubectl set image statefulset db "+noImage+", which doesn't exist", func() error {
		if err := s.setImage(ctx, noImage); err != nil {
			return err
		}
		return s.report(ctx, 10*time.Second)
	}); err != nil {
		return err
	}
	return s.Step("3. kubectl rollout undo statefulset db", func() error {
		if err := s.setImage(ctx, s.Image); err != nil {
			return err
		}
		return s.report(ctx, 20*time.Second)
	})
}

func (s *story) set() *appsv1.StatefulSet {
	labels := map[string]string{"app": "db"}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "db",
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: s.Image}}},
			},
		},
	}
}

func (s *story) setImage(ctx context.Context, image string) error {
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"` + image + `"}]}}}}`
	return s.client.Patch(ctx, s.set(), types.StrategicMergePatchType, []byte(patch))
}

// report says which members there are.
func (s *story) report(ctx context.Context, after time.Duration) error {
	demo.Sleep(ctx, after)
	pods, err := mini.List[*corev1.Pod](ctx, s.client, mini.Selection{Namespace: s.Namespace})
	var all []string
	for _, pod := range pods {
		text := pod.Name + " good"
		if pod.Spec.Containers[0].Image == noImage {
			text = pod.Name + " bad"
		}
		all = append(all, text+" ("+state(pod)+")")
	}
	s.Say("Members: %s.", strings.Join(all, ", "))
	return err
}

func state(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		switch {
		case pod.DeletionTimestamp != nil:
			return "ending"
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			return "ready"
		}
	}
	return "not ready"
}
