// Package late is what both programs of the chapter do: Pods are added whose owner is in the API
// server, and not yet in the cache.
package late

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// HasOwner says whether a Pod has an owner that exists.
type HasOwner func(ctx context.Context, pod *corev1.Pod) (bool, error)

// Story deletes each new Pod that has no owner. The watch of ReplicaSets is 3 s late.
func Story(prepare func(m *mini.Manager) (HasOwner, error)) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		s := &story{Demo: d, judged: make(chan struct{})}
		config := rest.CopyConfig(d.Config())
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counting{next, &s.asked} })
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		if err != nil {
			return err
		}
		cluster.Trace = d.Hidden()
		m := mini.NewManager(cluster)
		sets, err := m.Cache.Informer(&appsv1.ReplicaSet{})
		if err != nil {
			return err
		}
		sets.Source = late{sets.Source}
		pods, err := m.Cache.Informer(&corev1.Pod{})
		if err != nil {
			return err
		}
		hasOwner, err := prepare(m)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		s.sets = sets
		pods.AddHandler(func(change mini.Change) {
			if change.Old == nil && change.New.GetNamespace() == d.Namespace {
				s.collect(ctx, hasOwner, change.New.(*corev1.Pod))
			}
		})
		ended := make(chan error)
		go func() { ended <- m.Run(ctx) }()
		if err = m.Cache.WaitForSync(ctx); err == nil {
			err = s.play(ctx)
		}
		stop()
		<-ended
		return err
	}
}

type story struct {
	*demo.Demo
	sets   *mini.SharedInformer
	judged chan struct{} // one value for each Pod
	asked  atomic.Int32  // requests for a ReplicaSet by name
}

// counting counts the requests for a ReplicaSet by name.
type counting struct {
	next  http.RoundTripper
	asked *atomic.Int32
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/replicasets/") {
		c.asked.Add(1)
	}
	return c.next.RoundTrip(r)
}

// collect is a garbage collector for Pods.
func (s *story) collect(ctx context.Context, hasOwner HasOwner, pod *corev1.Pod) {
	owned, err := hasOwner(ctx, pod)
	switch {
	case err != nil:
		s.Say("%s: %v", pod.Name, err)
	case owned:
		s.Say("%s has an owner: keep it.", pod.Name)
	default:
		s.Say("%s has no owner: delete it.", pod.Name)
		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
		err := s.Client.CoreV1().Pods(s.Namespace).Delete(ctx, pod.Name, now)
		if err != nil && !apierrors.IsNotFound(err) {
			s.Say("%v", err)
		}
	}
	select {
	case s.judged <- struct{}{}:
	case <-ctx.Done():
	}
}

func (s *story) play(ctx context.Context) error {
	var web metav1.OwnerReference
	if err := s.Step("1. A user creates the ReplicaSet web, and its three Pods", func() error {
		labels := map[string]string{"app": "web"}
		rs, err := s.Client.AppsV1().ReplicaSets(s.Namespace).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: s.podSpec(),
				},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		web = *metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
		for i := range 3 {
			if err := s.createPod(ctx, fmt.Sprint("web-", i), web); err != nil {
				return err
			}
		}
		return s.count(ctx)
	}); err != nil {
		return err
	}
	if err := s.Step("2. The watch of ReplicaSets catches up, and a fourth Pod comes", func() error {
		key := mini.Request{Namespace: s.Namespace, Name: "web"}
		err := s.sets.WaitFor(ctx, func() bool { return s.sets.Get(key) != nil })
		if err != nil {
			return err
		}
		s.Say("Now the cache shows the ReplicaSet web.")
		if err := s.createPod(ctx, "web-3", web); err != nil {
			return err
		}
		return s.count(ctx)
	}); err != nil {
		return err
	}
	return s.Step("3. A Pod comes late: its owner was another web, since deleted", func() error {
		web.UID = "00000000-0000-0000-0000-000000000000"
		if err := s.createPod(ctx, "late", web); err != nil {
			return err
		}
		return s.count(ctx)
	})
}

// createPod waits until the collector has made up its mind.
func (s *story) createPod(ctx context.Context, name string, owner metav1.OwnerReference) error {
	_, err := s.Client.CoreV1().Pods(s.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       s.podSpec(),
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	select {
	case <-s.judged:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *story) podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: s.Image}}}
}

func (s *story) count(ctx context.Context) error {
	pods, err := s.Client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		s.Say("Pods: %d. Requests to find out about owners: %d.", len(pods.Items), s.asked.Swap(0))
	}
	return err
}

// late is a source whose events take 3 s, as on a busy API server.
type late struct{ mini.ListerWatcher }

func (l late) Watch(ctx context.Context, version string) (watch.Interface, error) {
	w, err := l.ListerWatcher.Watch(ctx, version)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
		}
		return event, true
	}), nil
}
