package client_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// cluster returns the configuration of a server in memory. Your program gets its own from package
// config.
func cluster() (config *rest.Config, stop func()) {
	server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{{Group: "shop.example", Version: "v1", Kind: "Widget"}}})
	return server.Config(), server.Close
}

func configMap(name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}}
}

// must is for examples, which have no place for errors.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func Example() {
	config, stop := cluster()
	defer stop()
	c, err := client.New(config, client.Options{})
	must(err)
	ctx := context.Background()

	must(c.Create(ctx, configMap("web", map[string]string{"tier": "front"})))
	must(c.Create(ctx, configMap("db", map[string]string{"tier": "back"})))

	var list corev1.ConfigMapList
	must(c.List(ctx, &list, client.InNamespace("default"), client.MatchingLabels{"tier": "front"}))
	for _, item := range list.Items {
		fmt.Println(item.Name)
	}

	err = c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "cache"}, &corev1.ConfigMap{})
	fmt.Println(apierrors.IsNotFound(err), client.IgnoreNotFound(err))
	// Output:
	// web
	// true <nil>
}

// A kind without a Go type says itself what it is.
func ExampleNew_unstructured() {
	config, stop := cluster()
	defer stop()
	c, err := client.New(config, client.Options{})
	must(err)
	widget := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(3)}}}
	widget.SetGroupVersionKind(schema.GroupVersionKind{Group: "shop.example", Version: "v1", Kind: "Widget"})
	widget.SetNamespace("default")
	widget.SetName("w")
	must(c.Create(context.Background(), widget))
	fmt.Println(widget.GetKind(), widget.GetGeneration())
	// Output: Widget 1
}

// A patch sends only what has changed. With a lock, it is refused if somebody else was faster.
func ExampleMergeFrom() {
	before := configMap("web", nil)
	before.ResourceVersion = "7"
	after := before.DeepCopy()
	after.Data = map[string]string{"color": "green"}

	data, err := client.MergeFrom(before).Data(after)
	fmt.Println(string(data), err)
	data, err = client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(after)
	fmt.Println(string(data), err)
	// Output:
	// {"data":{"color":"green"}} <nil>
	// {"data":{"color":"green"},"metadata":{"resourceVersion":"7"}} <nil>
}

// An apply says which fields the caller wants. Fields of others stay, and one that two want is a
// conflict.
func ExampleClient_apply() {
	config, stop := cluster()
	defer stop()
	c, err := client.New(config, client.Options{})
	must(err)
	ctx := context.Background()
	color := func(color string) *coreapply.ConfigMapApplyConfiguration {
		return coreapply.ConfigMap("web", "default").WithData(map[string]string{"color": color})
	}
	must(c.Apply(ctx, color("green"), client.FieldOwner("designer")))
	err = c.Apply(ctx, color("red"), client.FieldOwner("manager"))
	fmt.Println(apierrors.IsConflict(err))
	must(c.Apply(ctx, color("red"), client.FieldOwner("manager"), client.ForceOwnership))
	// Output: true
}

// Some subresources have a form of their own.
func ExampleWithSubResourceBody() {
	config, stop := cluster()
	defer stop()
	c, err := client.New(config, client.Options{})
	must(err)
	ctx, labels := context.Background(), map[string]string{"app": "web"}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}},
	}}
	must(c.Create(ctx, web))

	scale := &autoscalingv1.Scale{}
	must(c.SubResource("scale").Get(ctx, web, scale))
	scale.Spec.Replicas = 5
	must(c.SubResource("scale").Update(ctx, web, client.WithSubResourceBody(scale)))
	must(c.Get(ctx, client.ObjectKeyFromObject(web), web))
	fmt.Println(*web.Spec.Replicas)
	// Output: 5
}

// Wrappers say once what would have to be said in every call.
func ExampleNewNamespacedClient() {
	config, stop := cluster()
	defer stop()
	c, err := client.New(config, client.Options{})
	must(err)
	c = client.NewNamespacedClient(client.WithFieldOwner(c, "shop-operator"), "default")
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"color": "green"}}
	must(c.Create(context.Background(), obj))
	fmt.Println(client.ObjectKeyFromObject(obj), obj.ManagedFields[0].Manager)
	fmt.Println(c.Delete(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "web"}}))
	// Output:
	// default/web shop-operator
	// other/web: this client is for namespace default
}

// A watch is for programs that wait for one thing.
func ExampleNewWithWatch() {
	config, stop := cluster()
	defer stop()
	c, err := client.NewWithWatch(config, client.Options{})
	must(err)
	watching, err := c.Watch(context.Background(), &corev1.ConfigMapList{}, client.InNamespace("default"))
	must(err)
	defer watching.Stop()
	must(c.Create(context.Background(), configMap("web", nil)))
	event := <-watching.ResultChan()
	fmt.Println(event.Type, event.Object.(*corev1.ConfigMap).Name)
	// Output: ADDED web
}
