package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/conditions"
	"github.com/loopwright/loopwright/trace"
)

func (s *stage) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Name: name}
}

func (s *stage) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.Namespace, Name: name}
}

// deploy makes a Deployment without Pods.
func (s *stage) deploy(ctx context.Context, name string) error {
	labels, none := map[string]string{"app": name}, int32(0)
	return s.users.Create(ctx, &appsv1.Deployment{ObjectMeta: s.meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: s.Image}}}},
	}})
}

func (s *stage) deployment(ctx context.Context, name string) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	return d, s.users.Get(ctx, s.key(name), d)
}

func (s *stage) remove(ctx context.Context, name string) error {
	return s.users.Delete(ctx, &appsv1.Deployment{ObjectMeta: s.meta(name)})
}

func (s *stage) patch(ctx context.Context, obj client.Object, patch string) error {
	return s.users.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// annotate changes something that the controller does not care about, and waits until it has looked.
func (s *stage) annotate(ctx context.Context, name string) error {
	d := &appsv1.Deployment{ObjectMeta: s.meta(name)}
	if err := s.patch(ctx, d, `{"metadata":{"annotations":{"note":"hello"}}}`); err != nil {
		return err
	}
	return errors.Join(
		s.find(ctx, "the annotation", func(e trace.Event) bool { return e.Kind == trace.Index && e.Version == d.ResourceVersion }),
		s.find(ctx, "a look at "+name, func(e trace.Event) bool { return e.Kind == trace.ReconcileStart && e.Name == name }),
		s.find(ctx, "its end", func(e trace.Event) bool { return e.Kind == trace.Done && e.Name == name }),
	)
}

func (s *stage) deleteService(ctx context.Context, name string) error {
	return s.users.Delete(ctx, &corev1.Service{ObjectMeta: s.meta(name)})
}

func (s *stage) changeIngress(ctx context.Context, name string) error {
	return s.patch(ctx, &networkingv1.Ingress{ObjectMeta: s.meta(name)}, `{"spec":{"rules":[{"host":"elsewhere.example"}]}}`)
}

// occupy makes a Service that a ConfigMap controls, and waits until the controller's cache has it.
func (s *stage) occupy(ctx context.Context, name string) error {
	owner := &corev1.ConfigMap{ObjectMeta: s.meta("owner-of-" + name)}
	if err := s.users.Create(ctx, owner); err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: s.meta(name), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	service.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	if err := s.users.Create(ctx, service); err != nil {
		return err
	}
	return s.find(ctx, "the Service "+name, func(e trace.Event) bool { return e.Kind == trace.Index && e.Version == service.ResourceVersion })
}

// stays makes sure that the Deployment is being deleted, and still there, with what it owns.
func (s *stage) stays(ctx context.Context, name string) error {
	d, err := s.deployment(ctx, name)
	if err == nil && d.DeletionTimestamp.IsZero() {
		err = fmt.Errorf("nobody deletes the Deployment %s", name)
	}
	return errors.Join(err, s.users.Get(ctx, s.key(name), &corev1.Service{}), s.users.Get(ctx, s.key(name), &networkingv1.Ingress{}))
}

// gone waits for the end of the Deployment.
func (s *stage) gone(ctx context.Context, name string) error {
	return s.until(ctx, "the end of the Deployment "+name, func(ctx context.Context) error {
		_, err := s.deployment(ctx, name)
		return isGone(err)
	})
}

// collected waits for the end of the Deployment and of what it owns.
func (s *stage) collected(ctx context.Context, name string) error {
	return errors.Join(s.gone(ctx, name), s.until(ctx, "the garbage collector", func(ctx context.Context) error {
		return errors.Join(isGone(s.users.Get(ctx, s.key(name), &corev1.Service{})), isGone(s.users.Get(ctx, s.key(name), &networkingv1.Ingress{})))
	}))
}

func isGone(err error) error {
	if err == nil {
		return errors.New("it is still there")
	}
	return client.IgnoreNotFound(err)
}

// handedOver waits until Service and Ingress belong to the Deployment that there is now, and nothing is left
// to do.
func (s *stage) handedOver(ctx context.Context, name string, old types.UID) error {
	return s.until(ctx, "the new owner", func(ctx context.Context) error {
		d, err := s.deployment(ctx, name)
		if err != nil || d.UID == old {
			return errors.Join(err, errors.New("there is no new Deployment"))
		}
		service := &corev1.Service{}
		for _, owned := range []client.Object{service, &networkingv1.Ingress{}} {
			if err := s.users.Get(ctx, s.key(name), owned); err != nil {
				return err
			}
			if !metav1.IsControlledBy(owned, d) {
				return fmt.Errorf("the %T belongs to another Deployment", owned)
			}
		}
		if !conditions.IsTrue(service, service.Status.Conditions, published) {
			return errors.New("the Service has no status")
		}
		return nil
	})
}

func (s *stage) published(ctx context.Context, name string) bool {
	d, err := s.deployment(ctx, name)
	return err == nil && s.dns.has(d)
}

// left counts what there is in the namespace.
func (s *stage) left(ctx context.Context) (services, ingresses int, err error) {
	var serviceList corev1.ServiceList
	var ingressList networkingv1.IngressList
	err = errors.Join(s.users.List(ctx, &serviceList, client.InNamespace(s.Namespace)), s.users.List(ctx, &ingressList, client.InNamespace(s.Namespace)))
	return len(serviceList.Items), len(ingressList.Items), err
}
