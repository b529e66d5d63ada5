package controllerutil_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// A Deployment gets a Service. The second call finds it as it should be, and the third repairs it.
func ExampleCreateOrUpdate() {
	ctx, c := context.Background(), fake.NewClientBuilder().Build()
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	serve := func() (*corev1.Service, error) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		result, err := controllerutil.CreateOrUpdate(ctx, c, service, func() error {
			service.Spec.ClusterIP = corev1.ClusterIPNone
			service.Spec.Selector = map[string]string{"app": "web"}
			return controllerutil.SetControllerReference(owner, service, c.Scheme())
		})
		fmt.Println("the Service was", result)
		return service, err
	}
	for range 2 {
		if _, err := serve(); err != nil {
			panic(err)
		}
	}
	before := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	wrong := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"selector":{"app":"other"}}}`))
	if err := c.Patch(ctx, before, wrong); err != nil {
		panic(err)
	}
	service, err := serve()
	fmt.Println(service.Spec.Selector, service.OwnerReferences[0].Kind, err)
	// Output:
	// the Service was created
	// the Service was unchanged
	// the Service was updated
	// map[app:web] Deployment <nil>
}

func ExampleAddFinalizer() {
	service := &corev1.Service{}
	fmt.Println(controllerutil.AddFinalizer(service, "shop.example/dns"), service.Finalizers)
	fmt.Println(controllerutil.AddFinalizer(service, "shop.example/dns"), service.Finalizers)
	fmt.Println(controllerutil.RemoveFinalizer(service, "shop.example/dns"), service.Finalizers)
	// Output:
	// true [shop.example/dns]
	// false [shop.example/dns]
	// true []
}
