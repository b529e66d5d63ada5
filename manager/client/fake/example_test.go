package fake_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
)

// A test prepares a cluster, calls its reconciler with the client, and looks at what is there.
func ExampleNewClientBuilder() {
	ctx := context.Background()
	shop := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"}, Spec: WidgetSpec{Size: 3}}
	c := fake.NewClientBuilder().
		WithScheme(newScheme()).
		WithObjects(shop).
		WithStatusSubresource(&Widget{}).
		Build()

	// What follows would be the reconciler.
	shop.Status.Size = shop.Spec.Size
	fmt.Println("status:", c.Status().Update(ctx, shop))

	got := &Widget{}
	fmt.Println("get:", c.Get(ctx, client.ObjectKeyFromObject(shop), got))
	fmt.Println("size:", got.Status.Size, "generation:", got.Generation)
	// Output:
	// status: <nil>
	// get: <nil>
	// size: 3 generation: 1
}

// A cluster refuses an update of an old version. So a test can show that a reconciler handles it.
func ExampleNewFakeClient() {
	ctx := context.Background()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
	c := fake.NewFakeClient(settings)

	stale := settings.DeepCopy()
	settings.Data = map[string]string{"color": "red"}
	fmt.Println(c.Update(ctx, settings))
	fmt.Println("conflict:", apierrors.IsConflict(c.Update(ctx, stale)))
	// Output:
	// <nil>
	// conflict: true
}

// Interceptors let calls fail that a cluster would carry out.
func ExampleClientBuilder_WithInterceptorFuncs() {
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if _, isSecret := obj.(*corev1.Secret); isSecret {
				return errors.New("the quota is used up")
			}
			return c.Create(ctx, obj, opts...)
		},
	}).Build()
	named := metav1.ObjectMeta{Namespace: "default", Name: "a"}
	fmt.Println(c.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: named}))
	fmt.Println(c.Create(context.Background(), &corev1.Secret{ObjectMeta: named}))
	// Output:
	// <nil>
	// the quota is used up
}

// An index does for List what it does in a cache.
func ExampleClientBuilder_WithIndex() {
	on := func(name, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	}
	c := fake.NewClientBuilder().
		WithObjects(on("a", "n1"), on("b", "n2")).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(obj client.Object) []string {
			return []string{obj.(*corev1.Pod).Spec.NodeName}
		}).
		Build()
	pods := &corev1.PodList{}
	err := c.List(context.Background(), pods, client.MatchingFields{"spec.nodeName": "n2"})
	fmt.Println(err, len(pods.Items), pods.Items[0].Name)
	// Output: <nil> 1 b
}
