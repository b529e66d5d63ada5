// Package cascade is what both programs of the chapter do: a user deletes a Deployment before its
// Pods, after them, and without them.
package cascade

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

// Kinds are the kinds of objects that are collected.
var Kinds = []mini.Object{&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}}

// Prepare adds a collector to m.
type Prepare func(ctx context.Context, d *demo.Demo, m *mini.Manager) error

// Main runs the story on a cluster whose own garbage collector is switched off.
func Main(title string, prepare Prepare, questions ...demo.Question) {
	_ = os.Setenv("ORIGINALS", "-garbage-collector-controller")
	demo.Main(title, alone.Story(Story(prepare), "garbage-collector-controller"), questions...)
}

// Story deletes Deployments, and says what is left.
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
		if err := prepare(ctx, d, m); err != nil {
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

func (s *story) play(ctx context.Context) error {
	if err := s.Step("1. kubectl delete deployment web --cascade=foreground; its Pod takes its time", func() error {
		pod, err := s.create(ctx, "web", "example.com/drain")
		if err != nil {
			return err
		}
		if err := s.delete(ctx, &appsv1.Deployment{}, "web", metav1.DeletePropagationForeground); err != nil {
			return err
		}
		if err := s.report(ctx); err != nil {
			return err
		}
		s.Say("The Pod has been drained.")
		if err := s.client.Get(ctx, mini.KeyOf(pod), pod); err != nil {
			return err
		}
		mini.RemoveFinalizer(pod, "example.com/drain")
		if err := s.client.Update(ctx, pod); err != nil {
			return err
		}
		return s.report(ctx)
	}); err != nil {
		return err
	}
	if err := s.Step("2. kubectl delete deployment db --cascade=orphan", func() error {
		if _, err := s.create(ctx, "db"); err != nil {
			return err
		}
		if err := s.delete(ctx, &appsv1.Deployment{}, "db", metav1.DeletePropagationOrphan); err != nil {
			return err
		}
		return s.report(ctx)
	}); err != nil {
		return err
	}
	return s.Step("3. kubectl delete replicaset db", func() error {
		err := s.delete(ctx, &appsv1.ReplicaSet{}, "db", metav1.DeletePropagationBackground)
		if apierrors.IsNotFound(err) {
			s.Say("There is no ReplicaSet db.")
		} else if err != nil {
			return err
		}
		return s.report(ctx)
	})
}

// create makes a Deployment, its ReplicaSet and its Pod, as their controllers would.
func (s *story) create(ctx context.Context, name string, finalizers ...string) (*corev1.Pod, error) {
	labels := map[string]string{"app": name}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: s.Image}}, TerminationGracePeriodSeconds: new(int64(0)),
		},
	}
	meta := func(owner ...metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: labels, OwnerReferences: owner}
	}
	d := &appsv1.Deployment{
		ObjectMeta: meta(), Spec: appsv1.DeploymentSpec{Selector: selector, Template: template},
	}
	if err := s.client.Create(ctx, d); err != nil {
		return nil, err
	}
	rs := &appsv1.ReplicaSet{
		ObjectMeta: meta(*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))),
		Spec:       appsv1.ReplicaSetSpec{Selector: selector, Template: template},
	}
	if err := s.client.Create(ctx, rs); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{
		ObjectMeta: meta(*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))),
		Spec:       template.Spec,
	}
	pod.Finalizers = finalizers
	if err := s.client.Create(ctx, pod); err != nil {
		return nil, err
	}
	return pod, s.report(ctx)
}

func (s *story) delete(ctx context.Context, like mini.Object, name string, policy metav1.DeletionPropagation) error {
	obj := like.DeepCopyObject().(mini.Object)
	obj.SetNamespace(s.Namespace)
	obj.SetName(name)
	return s.client.Delete(ctx, obj, metav1.DeleteOptions{PropagationPolicy: &policy})
}

// letGo removes the finalizers that are left if the story was interrupted: nothing else does, and the
// namespace would stay for good.
func (s *story) letGo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, like := range Kinds {
		objs, err := s.client.List(ctx, like, mini.Selection{Namespace: s.Namespace})
		if err != nil {
			return err
		}
		for _, obj := range objs {
			if len(obj.GetFinalizers()) == 0 {
				continue
			}
			err := s.client.Patch(ctx, obj, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}

// report says which objects there are, when whatever happens has happened.
func (s *story) report(ctx context.Context) error {
	demo.Sleep(ctx, 2*time.Second)
	var left []string
	for _, like := range Kinds {
		objs, err := s.client.List(ctx, like, mini.Selection{Namespace: s.Namespace})
		if err != nil {
			return err
		}
		for _, obj := range objs {
			kind, _ := s.client.Cluster.KindOf(obj)
			text := kind.Kind + " " + obj.GetName()
			if obj.GetDeletionTimestamp() != nil {
				text += " (ending)"
			}
			left = append(left, text)
		}
	}
	if len(left) == 0 {
		left = []string{"none"}
	}
	s.Say("Objects: %s.", strings.Join(left, ", "))
	return nil
}
