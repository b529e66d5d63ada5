// Package tenant is what both programs of the chapter do: one team deletes its namespace, and another
// one takes the name.
package tenant

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Prepare adds a namespace controller to m.
type Prepare func(d *demo.Demo, m *mini.Manager) error

// Main runs the story on a cluster whose own namespace controller is switched off.
func Main(title string, prepare Prepare, questions ...demo.Question) {
	_ = os.Setenv("ORIGINALS", "-namespace-controller")
	demo.Main(title, Story(prepare), questions...)
}

// Story is played in the namespace of the demo.
func Story(prepare Prepare) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		user, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		m := mini.NewManager(cluster)
		s := &story{Demo: d, client: &mini.Client{Cluster: user}}
		if err := prepare(d, m); err != nil {
			return err
		}
		ended := make(chan error)
		go func() { ended <- m.Run(ctx) }()
		err = s.play(ctx)
		stop()
		return errors.Join(err, <-ended, s.letGo(ctx))
	}
}

type story struct {
	*demo.Demo
	client *mini.Client
}

const drain = "example.com/drain"

func (s *story) play(ctx context.Context) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "web", Finalizers: []string{drain}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: s.Image}}, TerminationGracePeriodSeconds: new(int64(0)),
		},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "password"}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
	if err := s.Step("1. kubectl delete namespace red; its Pod takes its time", func() error {
		// A real cluster makes the ServiceAccount of a new namespace a moment later.
		for s.client.Create(ctx, pod) != nil && ctx.Err() == nil {
			demo.Sleep(ctx, time.Second)
		}
		if err := s.client.Create(ctx, secret); err != nil {
			return err
		}
		if err := s.report(ctx, 0); err != nil {
			return err
		}
		if err := s.client.Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
			return err
		}
		if err := s.report(ctx, 10*time.Second); err != nil {
			return err
		}
		switch err := s.drained(ctx); {
		case apierrors.IsNotFound(err):
			s.Say("The Pod can't be drained: %s.", strings.ReplaceAll(err.Error(), s.Namespace, "red"))
		case err != nil:
			return err
		default:
			s.Say("The Pod has been drained.")
		}
		return s.report(ctx, 10*time.Second)
	}); err != nil {
		return err
	}
	return s.Step("2. Another team: kubectl create namespace red", func() error {
		if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: namespace.ObjectMeta}); err != nil {
			return err
		}
		return s.report(ctx, time.Second)
	})
}

// drained removes the finalizer of the Pod.
func (s *story) drained(ctx context.Context) error {
	pod, err := mini.Get[*corev1.Pod](ctx, s.client, mini.Request{Namespace: s.Namespace, Name: "web"})
	if err != nil {
		return err
	}
	mini.RemoveFinalizer(pod, drain)
	return s.client.Update(ctx, pod)
}

// letGo drains the Pod if there is one: nothing else does, and the namespace would stay for good.
func (s *story) letGo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return mini.IgnoreNotFound(s.drained(ctx))
}

// report says what there is after some time.
func (s *story) report(ctx context.Context, after time.Duration) error {
	demo.Sleep(ctx, after)
	var left []string
	for _, like := range []mini.Object{&corev1.Namespace{}, &corev1.Pod{}, &corev1.Secret{}} {
		objs, err := s.client.List(ctx, like, mini.Selection{})
		if err != nil {
			return err
		}
		for _, obj := range objs {
			namespace, isNamespace := obj.(*corev1.Namespace)
			kind, _ := s.client.Cluster.KindOf(obj)
			text := kind.Kind + " " + obj.GetName()
			if isNamespace {
				text = "Namespace red"
			}
			if obj.GetDeletionTimestamp() != nil {
				text += " (ending)"
			}
			if obj.GetNamespace() != s.Namespace && obj.GetName() != s.Namespace {
				continue
			}
			left = append(left, text)
			if isNamespace {
				defer s.conditions(namespace)
			}
		}
	}
	if len(left) == 0 {
		left = []string{"none"}
	}
	s.Say("Objects: %s.", strings.Join(left, ", "))
	return nil
}

// conditions says what the namespace waits for.
func (s *story) conditions(namespace *corev1.Namespace) {
	for _, c := range namespace.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			s.Say("  %s: %s", c.Reason, c.Message)
		}
	}
}
