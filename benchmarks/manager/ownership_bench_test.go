package manager_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
	theirs "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	theirfinalizer "sigs.k8s.io/controller-runtime/pkg/finalizer"

	ourclient "github.com/loopwright/loopwright/manager/client"
	ours "github.com/loopwright/loopwright/manager/controller/controllerutil"
	ourfinalizer "github.com/loopwright/loopwright/manager/finalizer"
)

func ownedService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "7", UID: "2", Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "1", Controller: new(true), BlockOwnerDeletion: new(true)}}},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
}

func ownerDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", Finalizers: []string{"a/a", "a/b", "a/c"}}}
}

// These are clients that answer reads from memory, as a cache does. Nothing is written.
type ourMemory struct {
	ourclient.Client
	service *corev1.Service
}

func (m ourMemory) Get(_ context.Context, _ ourclient.ObjectKey, obj ourclient.Object, _ ...ourclient.GetOption) error {
	m.service.DeepCopyInto(obj.(*corev1.Service))
	return nil
}

type theirMemory struct {
	theirclient.Client
	service *corev1.Service
}

func (m theirMemory) Get(_ context.Context, _ theirclient.ObjectKey, obj theirclient.Object, _ ...theirclient.GetOption) error {
	m.service.DeepCopyInto(obj.(*corev1.Service))
	return nil
}

// A look that finds everything as it should be is what a controller does most of the time.
func BenchmarkLookAtAnOwnedObject(b *testing.B) {
	owner, ctx := ownerDeployment(), context.Background()
	ourService, theirService := ourMemory{service: ownedService()}, theirMemory{service: ownedService()}
	run := func(name string, look func(*corev1.Service) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := look(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("update/ours", func(s *corev1.Service) error {
		_, err := ours.CreateOrUpdate(ctx, ourService, s, func() error { return ours.SetControllerReference(owner, s, scheme.Scheme) })
		return err
	})
	run("update/controller-runtime", func(s *corev1.Service) error {
		_, err := theirs.CreateOrUpdate(ctx, theirService, s, func() error { return theirs.SetControllerReference(owner, s, scheme.Scheme) })
		return err
	})
	run("patch/ours", func(s *corev1.Service) error {
		_, err := ours.CreateOrPatch(ctx, ourService, s, func() error { return ours.SetControllerReference(owner, s, scheme.Scheme) })
		return err
	})
	run("patch/controller-runtime", func(s *corev1.Service) error {
		_, err := theirs.CreateOrPatch(ctx, theirService, s, func() error { return theirs.SetControllerReference(owner, s, scheme.Scheme) })
		return err
	})
}

type ourNothing struct{}

func (ourNothing) Finalize(context.Context, ourclient.Object) (ourfinalizer.Result, error) {
	return ourfinalizer.Result{}, nil
}

type theirNothing struct{}

func (theirNothing) Finalize(context.Context, theirclient.Object) (theirfinalizer.Result, error) {
	return theirfinalizer.Result{}, nil
}

// An object that has its finalizers, and that nobody deletes.
func BenchmarkFinalizeWithNothingToDo(b *testing.B) {
	owner, ctx := ownerDeployment(), context.Background()
	mine, yours := ourfinalizer.NewFinalizers(), theirfinalizer.NewFinalizers()
	for _, name := range owner.Finalizers {
		if err := mine.Register(name, ourNothing{}); err != nil {
			b.Fatal(err)
		}
		if err := yours.Register(name, theirNothing{}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := mine.Finalize(ctx, owner); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("controller-runtime", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := yours.Finalize(ctx, owner); err != nil {
				b.Fatal(err)
			}
		}
	})
}
