// Package unittested builds what unit tests of controllers build.
package unittested

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Client returns a client with one pod, and one in which every update fails.
func Client(scheme *runtime.Scheme) (good, bad client.WithWatch) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod).WithStatusSubresource(&corev1.Pod{}).
		WithLists(&corev1.ConfigMapList{}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} })
	good = builder.Build()
	bad = fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(pod.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return errors.New("no")
		},
	}).Build()
	return good, bad
}
