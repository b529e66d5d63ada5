package stage

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// The kinds that are watched.
const (
	Deployment = "Deployment"
	ReplicaSet = "ReplicaSet"
	Pod        = "Pod"
	Service    = "Service"
	Endpoints  = "Endpoints"
	Event      = "Event"
)

type opener func(context.Context, metav1.ListOptions) (watch.Interface, error)

// watches opens a watch of each kind, in all namespaces.
func (w *World) watches() map[string]opener {
	c := w.nodes
	all := map[string]opener{
		Deployment: c.AppsV1().Deployments(metav1.NamespaceAll).Watch,
		ReplicaSet: c.AppsV1().ReplicaSets(metav1.NamespaceAll).Watch,
		Pod:        c.CoreV1().Pods(metav1.NamespaceAll).Watch,
		Service:    c.CoreV1().Services(metav1.NamespaceAll).Watch,
		Endpoints:  c.CoreV1().Endpoints(metav1.NamespaceAll).Watch,
		Event:      c.EventsV1().Events(metav1.NamespaceAll).Watch,
	}
	if w.rest {
		maps.Copy(all, restWatches(c))
	}
	return all
}

// lists asks the server for what there is in a namespace, by kind.
func (w *World) lists(ctx context.Context, namespace string) map[string]func() (runtime.Object, error) {
	c, options := w.nodes, metav1.ListOptions{}
	all := map[string]func() (runtime.Object, error){
		Deployment: func() (runtime.Object, error) { return c.AppsV1().Deployments(namespace).List(ctx, options) },
		ReplicaSet: func() (runtime.Object, error) { return c.AppsV1().ReplicaSets(namespace).List(ctx, options) },
		Pod:        func() (runtime.Object, error) { return c.CoreV1().Pods(namespace).List(ctx, options) },
		Service:    func() (runtime.Object, error) { return c.CoreV1().Services(namespace).List(ctx, options) },
		Endpoints:  func() (runtime.Object, error) { return c.CoreV1().Endpoints(namespace).List(ctx, options) },
	}
	if w.rest {
		maps.Copy(all, restLists(ctx, c, namespace))
	}
	return all
}

// isCurrent reports whether the watches have shown all that has happened up to now.
func (s *Stage) isCurrent(ctx context.Context) (bool, error) {
	there := map[Ref]string{}
	for kind, list := range s.world.lists(ctx, s.Namespace) {
		all, err := list()
		if err != nil {
			return false, fmt.Errorf("listing %s: %w", kind, err)
		}
		err = meta.EachListItem(all, func(o runtime.Object) error {
			object := o.(Object)
			there[Ref{kind, object.GetName()}] = object.GetResourceVersion()
			return nil
		})
		if err != nil {
			return false, fmt.Errorf("listing %s: %w", kind, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, object := range s.objects {
		if ref.Kind != Event && there[ref] != object.GetResourceVersion() {
			return false, nil
		}
		delete(there, ref)
	}
	return len(there) == 0, nil
}

// follow hands every change of a kind to see, until the context ends. An informer is no good here: it keeps only the
// newest state of an object that changes quickly, and it is among the things that are judged.
func follow(ctx context.Context, kind string, w watch.Interface, open opener, see func(Change)) error {
	for version := ""; ; {
		for event := range w.ResultChan() {
			object, ok := event.Object.(Object)
			if !ok {
				w.Stop()
				return fmt.Errorf("watching %s: %w", kind, apierrors.FromObject(event.Object))
			}
			version = object.GetResourceVersion()
			number, err := strconv.ParseUint(version, 10, 64)
			if err != nil {
				w.Stop()
				return fmt.Errorf("watching %s: the version of %s: %w", kind, object.GetName(), err)
			}
			if event.Type != watch.Bookmark {
				see(Change{Type: event.Type, Kind: kind, Object: object, Version: number})
			}
		}
		err := Poll(ctx, "another watch of "+kind, func() (err error) {
			w, err = open(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
			return err
		})
		if err != nil {
			return err
		}
	}
}

// ready reports whether a Pod says that it is ready.
func ready(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return pod.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func active(pod *corev1.Pod) bool { return !finished(pod) && pod.DeletionTimestamp == nil }
